#include "kernels/cast/cast.h"
#include "kernels/common/work_counts.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const OpWork kCastWork;
const OpWork kCastWork = {features, count_moves};

}  // namespace codl::kernels
