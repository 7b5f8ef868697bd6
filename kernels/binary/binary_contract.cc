#include "kernels/binary/binary.h"

namespace codl::kernels {
namespace {

const char* check_input(const StepShape& step, const OperandShape& operand) {
  const OperandShape& y = step.output();
  if (operand.layout != Layout::Plain && operand.layout != y.layout)
    return "inputs Plain or of the output's layout";
  if (operand.rank > y.rank) return "inputs of at most the output's rank";
  for (int32_t i = 0; i < y.rank; ++i) {
    const int32_t dim = broadcast_dim(operand, y, i);
    if (dim != 1 && dim != y.dims[i]) return "input dims that are 1 or the output's";
  }
  if (step.row->processor == Processor::Gpu &&
      binary_operand_of(operand, y) == BinaryOperand::General)
    return "inputs like the output, scalar or per channel on a GPU";
  if (has_pixels(operand)) {
    const Range rows =
        operand.dims[2] == 1 ? Range{0, 1} : rows_of_part(step.part_dim, step.part, y);
    if (!holds_rows(operand, rows)) return "input rows of the part inside the operand";
  }
  return nullptr;
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (step.row->dtype == DType::Any) return "SKELETON";
  if (const char* expected = check_operands(step, 3, 3)) return expected;
  const auto& params = step.params_as<BinaryParams>();
  const OperandShape& a = step.operands[0];
  const OperandShape& b = step.operands[1];
  const OperandShape& y = step.output();
  if (member_name(OpKind::Binary, params.kind).empty()) return "a member of Binary";
  if (member_name(OpKind::Unary, params.activation).empty()) return "an activation of Unary";
  if (y.layout == Layout::Image2d && step.row->layout != Layout::Image2d)
    return "no image for a buffer kernel";
  if (!has_pixels(y) && step.part_dim != SplitDim::None) return "no part of a Plain output";
  if (const char* expected = check_input(step, a)) return expected;
  if (const char* expected = check_input(step, b)) return expected;
  for (int32_t i = 0; i < y.rank; ++i)
    if (broadcast_dim(a, y, i) != y.dims[i] && broadcast_dim(b, y, i) != y.dims[i])
      return "output dims that the inputs broadcast to";
  out_needs->task_count = binary_work(step.part_dim, step.part, y).task_count;
  return nullptr;
}

void features(const StepShape& step, Features* out_features) {
  const int64_t written = part_elements(step);
  // A broadcast operand is read from memory once, whatever the number of uses.
  int64_t moved = written;
  for (uint32_t i = 0; i < 2; ++i) {
    const int64_t stored = stored_elements(step.operands[i]);
    moved += stored < written ? stored : written;
  }
  out_features->add("mbytes", static_cast<double>(moved) * sizeof(float) * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const Contract kBinaryContract;
const Contract kBinaryContract = {check, binary_launch, features};

}  // namespace codl::kernels
