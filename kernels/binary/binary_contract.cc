#include "kernels/binary/binary.h"

namespace codl::kernels::binary {
namespace {

const char* check_input(const StepShape& step, const OperandShape& operand) {
  const OperandShape& y = step.output();
  if (operand.layout != Layout::Plain && operand.layout != y.layout)
    return "inputs Plain or of the output's layout";
  if (const char* expected = check_broadcast(operand, y)) return expected;
  if (step.kernel->processor == Processor::Gpu && step.kernel->algorithm != Algorithm::Broadcast &&
      binary_operand_of(operand, y) == BinaryOperand::General)
    return "inputs like the output, scalar, per channel or of one pixel on a GPU";
  if (operand.pixel_stride != 0 && !same_dims(operand, y)) return "windows of the output's dims";
  if (has_pixels(operand)) {
    const Range rows =
        operand.dims[2] == 1 ? Range{0, 1} : rows_of_part(step.part_dim, step.part, y);
    if (!holds_rows(operand, rows)) return "input rows of the part inside the operand";
  }
  return nullptr;
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 3, 3, check_cl_lanes_tile)) return expected;
  const auto& params = step.params_as<BinaryParams>();
  const OperandShape& a = step.operands[0];
  const OperandShape& b = step.operands[1];
  const OperandShape& y = step.output();
  if (member_name(OpKind::Binary, params.kind).empty()) return "a member of Binary";
  if (!is_activation(params.activation)) return "an activation of Unary";
  const DType dtype = number_dtype(step, a);
  const DType y_dtype = number_dtype(step, y);
  if (dtype != number_dtype(step, b) || binary_output_dtype(params.kind, dtype) != y_dtype)
    return "dtypes that the member of Binary has";
  if (y_dtype != DType::F32 && params.activation != kUnaryIdentity)
    return "no activation of another dtype than f32";
  if (const char* expected = check_elementwise_output(step)) return expected;
  if (const char* expected = check_input(step, a)) return expected;
  if (const char* expected = check_input(step, b)) return expected;
  if (step.kernel->algorithm == Algorithm::Broadcast &&
      binary_operand_of(a, y) != BinaryOperand::General &&
      binary_operand_of(b, y) != BinaryOperand::General)
    return "an input that only the kernel of any broadcast takes";
  for (int32_t i = 0; i < y.rank; ++i)
    if (broadcast_dim(a, y, i) != y.dims[i] && broadcast_dim(b, y, i) != y.dims[i])
      return "output dims that the inputs broadcast to";
  out_needs->task_count = elementwise_task_count(step);
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, binary_launch};

}  // namespace codl::kernels::binary
