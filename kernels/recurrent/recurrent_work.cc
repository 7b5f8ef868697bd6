#include "kernels/common/step_work.h"
#include "kernels/recurrent/recurrent.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const OperandShape& x = step.operands[0];
  const double weights = static_cast<double>(element_count(step.operands[1])) +
                         static_cast<double>(element_count(step.operands[2]));
  out_features->add("mmacs", weights * x.dims[0] * x.dims[1] * 1e-6);
  const double moved = traffic_bytes(x) + traffic_bytes(step.output());
  out_features->add("mbytes", (moved + weights * sizeof(float) * x.dims[0]) * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kRecurrentWork;
const OpWork kRecurrentWork = {features};

}  // namespace codl::kernels
