#include "kernels/non_max_suppression/non_max_suppression.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape&, StepNeeds*) { return "SKELETON"; }

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kNonMaxSuppressionContract;
const Contract kNonMaxSuppressionContract = {check, nullptr, features};

}  // namespace codl::kernels
