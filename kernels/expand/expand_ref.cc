#include "kernels/common/cpu_dispatch.h"
#include "kernels/common/move_elements.h"
#include "kernels/expand/expand.h"

namespace codl::kernels {

void expand_ref(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  LoopAxes axes;
  for (int32_t i = 0; i < y.shape.rank; ++i) {
    const int32_t x_axis = i - (y.shape.rank - x.shape.rank);
    const bool is_repeated = x_axis < 0 || x.shape.dims[x_axis] == 1;
    axes.append(y.shape.dims[i], is_repeated ? 0 : x.strides[x_axis], y.strides[i]);
  }
  move_elements(axes, y.shape.dtype, y.as<char>(), x.as<const char>());
}

CODL_CPU_KERNEL_PLAIN(expand_any_cpu, expand_ref);

}  // namespace codl::kernels
