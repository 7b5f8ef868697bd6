#include "kernels/common/step_work.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  add_moved(step, out_features);
  const OperandShape& y = step.output();
  int32_t perm[kMaxRank];
  transpose_perm(step.params_as<TransposeParams>(), perm);
  if (y.rank > 0 && perm[y.rank - 1] != y.rank - 1)
    out_features->add("moved_mbytes", 2.0 * traffic_bytes(y) * 1e-6);
}

}  // namespace

extern const OpWork kTransposeWork;
const OpWork kTransposeWork = {features};

}  // namespace codl::kernels
