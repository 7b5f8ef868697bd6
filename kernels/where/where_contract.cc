#include "kernels/where/where.h"

namespace codl::kernels {
namespace {

// Dim i of y in an operand aligned from the right: 1 in front of its own.
int32_t aligned_dim(const OperandShape& operand, const OperandShape& y, int32_t i) {
  const int32_t own = i - (y.rank - operand.rank);
  return own < 0 ? 1 : operand.dims[own];
}

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_operands(step, 4, 4)) return expected;
  const OperandShape& y = step.output();
  if (step.operands[0].dtype != DType::Bool) return "a condition of type bool";
  if (step.operands[1].dtype != y.dtype || step.operands[2].dtype != y.dtype)
    return "inputs of the output's dtype";
  for (uint32_t k = 0; k < 3; ++k) {
    const OperandShape& operand = step.operands[k];
    if (operand.layout != Layout::Plain) return "Plain inputs";
    if (operand.rank > y.rank) return "inputs of at most the output's rank";
    for (int32_t i = 0; i < y.rank; ++i) {
      const int32_t dim = aligned_dim(operand, y, i);
      if (dim != 1 && dim != y.dims[i]) return "input dims that are 1 or the output's";
    }
  }
  for (int32_t i = 0; i < y.rank; ++i) {
    bool is_given = false;
    for (uint32_t k = 0; k < 3; ++k)
      is_given = is_given || aligned_dim(step.operands[k], y, i) == y.dims[i];
    if (!is_given) return "output dims that the inputs broadcast to";
  }
  return nullptr;
}

void features(const StepShape& step, Features* out_features) { add_traffic(step, out_features); }

}  // namespace

extern const Contract kWhereContract;
const Contract kWhereContract = {check, nullptr, features};

}  // namespace codl::kernels
