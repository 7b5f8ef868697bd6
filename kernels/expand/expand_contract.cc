#include "kernels/common/move_elements.h"
#include "kernels/expand/expand.h"

namespace codl::kernels {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 2, 2)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.dtype != y.dtype) return "operands of one dtype";
  if (x.rank > y.rank) return "an input of no higher rank than the output";
  for (int32_t i = 0; i < x.rank; ++i)
    if (x.dims[i] != 1 && x.dims[i] != y.dims[y.rank - x.rank + i])
      return "input dims that are 1 or the output's";
  return nullptr;
}

}  // namespace

extern const Contract kExpandContract;
const Contract kExpandContract = {check, nullptr, add_moved};

}  // namespace codl::kernels
