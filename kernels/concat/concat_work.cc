#include "kernels/common/step_work.h"
#include "kernels/concat/concat.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const double elements = static_cast<double>(part_elements(step));
  const OperandShape& y = step.output();
  // Of all inputs together, per element of the output.
  double read_bytes = 0;
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    read_bytes += static_cast<double>(element_count(step.operands[i])) *
                  static_cast<double>(dtype_bytes(step.operands[i].dtype));
  read_bytes /= static_cast<double>(element_count(y));
  out_features->add("mbytes",
                    elements * (read_bytes + static_cast<double>(dtype_bytes(y.dtype))) * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kConcatWork;
const OpWork kConcatWork = {features};

}  // namespace codl::kernels
