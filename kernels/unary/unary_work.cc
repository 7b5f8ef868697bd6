#include "kernels/common/step_work.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  out_features->add("mbytes", moved_bytes(step) * static_cast<double>(part_elements(step)) * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kUnaryWork;
const OpWork kUnaryWork = {features};

}  // namespace codl::kernels
