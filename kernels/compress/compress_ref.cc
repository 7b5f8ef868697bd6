#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/compress/compress.h"

namespace codl::kernels {

void compress_ref(const KernelArgs& args) {
  const int32_t axis = args.params_as<CompressParams>().axis;
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const uint8_t* condition = args.operands[1].as<const uint8_t>();
  const int64_t bytes = y.strides[axis] * static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  const int64_t count = y.shape.dims[axis];
  const int64_t outer = element_count(y.shape, 0, axis);
  const char* from = x.as<const char>();
  char* to = y.as<char>();
  for (int64_t i = 0; i < outer; ++i, from += x.shape.dims[axis] * bytes, to += count * bytes) {
    int64_t taken = 0;
    for (int64_t k = 0; k < count; ++k)
      if (condition[k] != 0) move_few(to + taken++ * bytes, from + k * bytes, bytes);
    std::memset(to + taken * bytes, 0, static_cast<size_t>((count - taken) * bytes));
  }
}

CODL_CPU_KERNEL_PLAIN(compress_any_cpu, compress_ref);

}  // namespace codl::kernels
