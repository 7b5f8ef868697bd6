#include "kernels/common/work_counts.h"
#include "kernels/non_zero/non_zero.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const OpWork kNonZeroWork;
const OpWork kNonZeroWork = {features, count_loops};

}  // namespace codl::kernels
