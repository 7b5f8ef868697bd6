#include "kernels/common/contract/broadcast.h"
#include "kernels/common/contract/move_elements.h"
#include "kernels/expand/expand.h"

namespace codl::kernels::expand {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 2, 2)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.dtype != y.dtype) return "operands of one dtype";
  return check_broadcast(x, y);
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::expand
