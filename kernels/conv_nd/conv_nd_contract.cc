#include "kernels/conv_nd/conv_nd.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape&, StepNeeds*) { return "SKELETON"; }

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kConvNdContract;
const Contract kConvNdContract = {check, nullptr, features};

}  // namespace codl::kernels
