#include "kernels/gather_elements/gather_elements.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape&, StepNeeds*) { return "SKELETON"; }

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kGatherElementsContract;
const Contract kGatherElementsContract = {check, nullptr, features};

}  // namespace codl::kernels
