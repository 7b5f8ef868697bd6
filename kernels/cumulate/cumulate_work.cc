#include "kernels/common/step_work.h"
#include "kernels/cumulate/cumulate.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const OpWork kCumulateWork;
const OpWork kCumulateWork = {features};

}  // namespace codl::kernels
