#include "kernels/expand/expand.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape&, StepNeeds*) { return "SKELETON"; }

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kExpandContract;
const Contract kExpandContract = {check, nullptr, features};

}  // namespace codl::kernels
