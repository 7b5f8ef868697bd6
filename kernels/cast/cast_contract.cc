#include "kernels/cast/cast.h"

namespace codl::kernels::cast {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (step.params_as<CastParams>().to != static_cast<int32_t>(y.dtype))
    return "an output of the dtype that is cast to";
  if (x.layout != Layout::Plain) return "a Plain input";
  if (!same_dims(x, y)) return "input and output of the same dims";
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::cast
