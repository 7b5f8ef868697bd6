#include "kernels/common/step_work.h"
#include "kernels/convert/convert.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const double elements = static_cast<double>(part_elements(step));
  const double mbytes = elements * moved_bytes(step) * 1e-6;
  out_features->add("mbytes", mbytes);
  if (step.operands[0].layout != step.output().layout) out_features->add("moved_mbytes", mbytes);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kConvertWork;
const OpWork kConvertWork = {features};

}  // namespace codl::kernels
