#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/gather/gather.h"

namespace codl::kernels {

void gather_ref(const KernelArgs& args) {
  const int32_t axis = args.params_as<GatherParams>().axis;
  const TensorView& data = args.operands[0];
  const TensorView& indices = args.operands[1];
  const TensorView& y = args.output();
  const int64_t bytes = data.strides[axis] * static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  const int64_t dim = data.shape.dims[axis];
  const int64_t outer = element_count(data.shape, 0, axis);
  const int64_t count = element_count(indices.shape);
  const char* from = data.as<const char>();
  char* to = y.as<char>();
  for (int64_t i = 0; i < outer; ++i, from += dim * bytes)
    for (int64_t k = 0; k < count; ++k, to += bytes)
      move_few(to, from + clamp_index(indices.as<const int64_t>()[k], dim) * bytes, bytes);
}

CODL_CPU_KERNEL_PLAIN(gather_any_cpu, gather_ref);

}  // namespace codl::kernels
