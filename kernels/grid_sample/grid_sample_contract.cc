#include "kernels/grid_sample/grid_sample.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape&, StepNeeds*) { return "SKELETON"; }

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kGridSampleContract;
const Contract kGridSampleContract = {check, nullptr, features};

}  // namespace codl::kernels
