#include "kernels/common/step_work.h"
#include "kernels/reduce/reduce.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const OpWork kReduceWork;
const OpWork kReduceWork = {features};

}  // namespace codl::kernels
