#include "kernels/common/contract/broadcast.h"
#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/expand/expand.h"

namespace codl::kernels {

void expand_ref(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  LoopAxes axes;
  for (int32_t i = 0; i < y.shape.rank; ++i)
    axes.append(y.shape.dims[i], broadcast_stride(x.shape, y.shape, i), y.strides[i]);
  move_elements(axes, y.shape.dtype, y.as<char>(), x.as<const char>());
}

CODL_CPU_KERNEL_PLAIN(expand_any_cpu, expand_ref);

}  // namespace codl::kernels
