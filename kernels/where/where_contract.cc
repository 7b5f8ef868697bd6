#include "kernels/common/contract/broadcast.h"
#include "kernels/where/where.h"

namespace codl::kernels::where {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_operands(step, 4, 4)) return expected;
  const OperandShape& y = step.output();
  if (step.operands[0].dtype != DType::Bool) return "a condition of type bool";
  if (step.operands[1].dtype != y.dtype || step.operands[2].dtype != y.dtype)
    return "inputs of the output's dtype";
  for (uint32_t k = 0; k < 3; ++k) {
    const OperandShape& operand = step.operands[k];
    if (operand.layout != Layout::Plain) return "Plain inputs";
    if (const char* expected = check_broadcast(operand, y)) return expected;
  }
  for (int32_t i = 0; i < y.rank; ++i) {
    bool is_given = false;
    for (uint32_t k = 0; k < 3; ++k)
      is_given = is_given || broadcast_dim(step.operands[k], y, i) == y.dims[i];
    if (!is_given) return "output dims that the inputs broadcast to";
  }
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::where
