#include "kernels/common/contract/move_elements.h"
#include "kernels/non_zero/non_zero.h"

namespace codl::kernels::non_zero {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 2, 2)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (y.dtype != DType::I64) return "output of dtype i64";
  if (y.rank != 2 || y.dims[0] != (x.rank == 0 ? 1 : x.rank) || y.dims[1] != element_count(x))
    return "an output of [rank, elements] of the input";
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::non_zero
