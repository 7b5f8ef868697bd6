#include "kernels/common/work_counts.h"
#include "kernels/scatter_nd/scatter_nd.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const OpWork kScatterNdWork;
const OpWork kScatterNdWork = {features, count_loops};

}  // namespace codl::kernels
