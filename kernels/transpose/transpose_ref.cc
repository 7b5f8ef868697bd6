#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels {

void transpose_ref(const KernelArgs& args) {
  int32_t perm[kMaxRank];
  transpose_perm(args.params_as<TransposeParams>(), perm);
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  LoopAxes axes;
  for (int32_t i = 0; i < y.shape.rank; ++i)
    axes.append(y.shape.dims[i], x.strides[perm[i]], y.strides[i]);
  move_elements(axes, y.shape.dtype, y.as<char>(), x.as<const char>());
}

CODL_CPU_KERNEL_PLAIN(transpose_any_cpu, transpose_ref);

}  // namespace codl::kernels
