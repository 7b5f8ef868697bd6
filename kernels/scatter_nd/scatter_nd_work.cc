#include "kernels/common/step_work.h"
#include "kernels/scatter_nd/scatter_nd.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const OpWork kScatterNdWork;
const OpWork kScatterNdWork = {features};

}  // namespace codl::kernels
