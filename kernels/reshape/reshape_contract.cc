#include "kernels/reshape/reshape.h"

namespace codl::kernels::reshape {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.layout != Layout::Plain || y.layout != Layout::Plain) return "Plain operands";
  if (x.dtype != y.dtype) return "operands of one dtype";
  if (element_count(x) != element_count(y)) return "input and output of as many elements";
  // All that is in its place takes no time.
  if (!step.kernel->is_reference() && !step.is_in_place)
    out_needs->task_count = reshape_task_count(element_count(y));
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, reshape_launch};

}  // namespace codl::kernels::reshape
