#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape&, StepNeeds*) { return "SKELETON"; }

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kDepthToSpaceContract;
const Contract kDepthToSpaceContract = {check, depth_to_space_launch, features};

}  // namespace codl::kernels
