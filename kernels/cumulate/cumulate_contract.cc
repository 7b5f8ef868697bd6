#include "kernels/cumulate/cumulate.h"

namespace codl::kernels::cumulate {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const int32_t axis = step.params_as<CumulateParams>().axis;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (axis < 0 || axis >= y.rank) return "an axis of the output";
  if (!is_number(y.dtype)) return "f32, f64 or an integer";
  if (x.dtype != y.dtype) return "input and output of one dtype";
  if (x.layout != Layout::Plain) return "a Plain input";
  if (!same_dims(x, y)) return "input and output of the same dims";
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::cumulate
