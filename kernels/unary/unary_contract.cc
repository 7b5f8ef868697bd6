#include "kernels/unary/unary.h"

namespace codl::kernels::unary {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 2, check_cl_lanes_tile)) return expected;
  const auto& params = step.params_as<UnaryParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (member_name(OpKind::Unary, params.kind).empty()) return "a member of Unary";
  if (unary_output_dtype(params.kind, number_dtype(step, x)) != number_dtype(step, y))
    return "dtypes that the member of Unary has";
  if (x.layout != y.layout) return "input and output of one layout";
  if (!same_dims(x, y)) return "input and output of the same dims";
  if (const char* expected = check_elementwise_output(step)) return expected;
  if (has_pixels(y) && !holds_rows(x, rows_of_part(step.part_dim, step.part, y)))
    return "input rows of the part inside the operand";
  out_needs->task_count = elementwise_task_count(step);
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, unary_launch};

}  // namespace codl::kernels::unary
