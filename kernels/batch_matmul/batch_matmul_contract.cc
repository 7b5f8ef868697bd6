#include "kernels/batch_matmul/batch_matmul.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape&, StepNeeds*) { return "SKELETON"; }

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kBatchMatMulContract;
const Contract kBatchMatMulContract = {check, batch_matmul_launch, features};

}  // namespace codl::kernels
