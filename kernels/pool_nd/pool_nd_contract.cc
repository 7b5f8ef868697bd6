#include "kernels/pool_nd/pool_nd.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape&, StepNeeds*) { return "SKELETON"; }

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kPoolNdContract;
const Contract kPoolNdContract = {check, nullptr, features};

}  // namespace codl::kernels
