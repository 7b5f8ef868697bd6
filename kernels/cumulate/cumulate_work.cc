#include "kernels/common/work_counts.h"
#include "kernels/cumulate/cumulate.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const OpWork kCumulateWork;
const OpWork kCumulateWork = {features, count_loops};

}  // namespace codl::kernels
