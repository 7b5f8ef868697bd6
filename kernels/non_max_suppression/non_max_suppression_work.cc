#include "kernels/common/step_work.h"
#include "kernels/non_max_suppression/non_max_suppression.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const OperandShape& scores = step.operands[1];
  add_traffic(step, out_features);
  out_features->add("mmacs",
                    static_cast<double>(element_count(scores)) * scores.dims[2] / 2 * 1e-6);
}

}  // namespace

extern const OpWork kNonMaxSuppressionWork;
const OpWork kNonMaxSuppressionWork = {features};

}  // namespace codl::kernels
