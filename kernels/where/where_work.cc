#include "kernels/common/work_counts.h"
#include "kernels/where/where.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const OpWork kWhereWork;
const OpWork kWhereWork = {features, count_loops};

}  // namespace codl::kernels
