#include "kernels/binary/binary.h"
#include "kernels/common/step_work.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const int64_t written = part_elements(step);
  double bytes = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    // A broadcast operand is read from memory once, whatever the number of uses.
    const int64_t stored = stored_elements(step.operands[i]);
    const bool is_part = i == 2 || written < stored;
    bytes += static_cast<double>(is_part ? written : stored) *
             static_cast<double>(dtype_bytes(step.operands[i].dtype));
  }
  out_features->add("mbytes", bytes * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kBinaryWork;
const OpWork kBinaryWork = {features};

}  // namespace codl::kernels
