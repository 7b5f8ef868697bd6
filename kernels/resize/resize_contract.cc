#include "kernels/resize/resize.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape&, StepNeeds*) { return "SKELETON"; }

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kResizeContract;
const Contract kResizeContract = {check, resize_launch, features};

}  // namespace codl::kernels
