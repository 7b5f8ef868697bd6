#include "kernels/common/step_work.h"
#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const double elements = static_cast<double>(part_elements(step));
  out_features->add("mbytes", elements * moved_bytes(step) * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kDepthToSpaceWork;
const OpWork kDepthToSpaceWork = {features};

}  // namespace codl::kernels
