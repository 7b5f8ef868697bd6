#include "kernels/common/step_work.h"
#include "kernels/softmax/softmax.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const double elements = static_cast<double>(part_elements(step));
  out_features->add("mbytes", elements * moved_bytes(step) * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kSoftmaxWork;
const OpWork kSoftmaxWork = {features};

}  // namespace codl::kernels
