#include "kernels/common/cpu_dispatch.h"
#include "kernels/common/ref_index.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels {

void transpose_ref(const KernelArgs& args) {
  int32_t perm[kMaxRank];
  transpose_perm(args.params_as<TransposeParams>(), perm);
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  for_each_output(args, [&](const int32_t* index) {
    int32_t from[kMaxRank] = {};
    for (int32_t i = 0; i < y.shape.rank; ++i) from[perm[i]] = index[i];
    copy_element(y, offset_of(y, index), x, offset_of(x, from));
  });
}

CODL_CPU_KERNEL_PLAIN(transpose_any_cpu, transpose_ref);

}  // namespace codl::kernels
