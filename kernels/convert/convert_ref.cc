#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/ref_index.h"
#include "kernels/convert/convert.h"

namespace codl::kernels {

void convert_ref(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const bool is_plain = x.shape.layout == Layout::Plain && y.shape.layout == Layout::Plain;
  if (is_plain && args.part_dim == SplitDim::None) {
    std::memcpy(y.data, x.data,
                static_cast<size_t>(element_count(y.shape)) * dtype_bytes(y.shape.dtype));
    return;
  }
  for_each_output(args, [&](const int32_t* index) {
    copy_element(y, offset_of(y, index), x, offset_of(x, index));
  });
  zero_pad_lanes(args);
}

CODL_CPU_KERNEL_PLAIN(convert_any_cpu, convert_ref);

}  // namespace codl::kernels
