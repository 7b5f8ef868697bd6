#include "kernels/recurrent/recurrent.h"

#include <algorithm>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::recurrent {
namespace {

llvm::Error expect_dims(const ir::NodeView& node, uint32_t operand,
                        llvm::ArrayRef<int64_t> expected) {
  const ir::Dims& found = node.input(operand).dims;
  if (found.size() == expected.size() && std::equal(found.begin(), found.end(), expected.begin()))
    return llvm::Error::success();
  return input_error(node.node.name, "expected dims [{0}] of operand {1}, found {2}",
                     llvm::make_range(expected.begin(), expected.end()), operand,
                     ir::to_string(node.input(operand)));
}

llvm::Error check_members(const ir::NodeView& node, const RecurrentParams& params) {
  const llvm::StringRef where = node.node.name;
  if (member_name(OpKind::Recurrent, params.kind).empty())
    return input_error(where, "expected a kind of recurrent network, found {0}", params.kind);
  if (params.direction < 0 || params.direction > 2)
    return input_error(where, "expected direction 0, 1 or 2, found {0}", params.direction);
  if (params.kind != kRecurrentLstm && (params.has_c0 || params.has_peepholes))
    return input_error(where, "expected no cell state and no peepholes but of an LSTM");
  const int32_t count =
      kernels::recurrent_activations(params.kind) * kernels::recurrent_directions(params.direction);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t kind = kernels::recurrent_activation(params, i).kind;
    if (member_name(OpKind::Unary, kind).empty())
      return input_error(where, "expected an activation, found {0}", kind);
  }
  return llvm::Error::success();
}

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<RecurrentParams>();
  const kernels::RecurrentOperands operands = kernels::recurrent_operands(params);
  if (llvm::Error error = expect_operand_count(node, operands.count)) return error;
  if (llvm::Error error = check_members(node, params)) return error;
  for (uint32_t i = 0; i < operands.count; ++i) {
    const bool is_lengths = i != 0 && i == operands.lengths;
    if (llvm::Error error = expect_typed(node, i, {is_lengths ? DType::I64 : DType::F32}))
      return error;
  }
  if (llvm::Error error = expect_operand(node, 0, 3)) return error;
  if (llvm::Error error = expect_operand(node, 2, 3)) return error;
  const ir::Dims& x = node.input(0).dims;
  const int64_t units = node.input(2).dims[2];
  const int64_t directions = kernels::recurrent_directions(params.direction);
  const int64_t rows = units * kernels::recurrent_gates(params.kind);
  if (llvm::Error error = expect_dims(node, 1, {directions, rows, x[2]})) return error;
  if (llvm::Error error = expect_dims(node, 2, {directions, rows, units})) return error;
  if (operands.bias != 0)
    if (llvm::Error error = expect_dims(node, operands.bias, {directions, 2 * rows})) return error;
  if (operands.lengths != 0)
    if (llvm::Error error = expect_dims(node, operands.lengths, {x[1]})) return error;
  for (uint32_t state : {operands.h0, operands.c0})
    if (state != 0)
      if (llvm::Error error = expect_dims(node, state, {directions, x[1], units})) return error;
  if (operands.peepholes != 0)
    if (llvm::Error error = expect_dims(node, operands.peepholes, {directions, 3 * units}))
      return error;
  return checked_type(node.node.name, DType::F32, {int64_t{x[0]} + 2, directions, x[1], units});
}

// A hidden state is a mean of the state before and a new one, or a gate times an activation of the
// cell; a cell grows by a gate times an activation in each step. Gates are sigmoids where they are
// not asked to be something else.
Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<RecurrentParams>();
  const kernels::RecurrentOperands at = kernels::recurrent_operands(params);
  const auto state = [&](uint32_t operand) {
    return operand != 0 ? operands[operand].magnitude() : 0;
  };
  const int32_t count = kernels::recurrent_activations(params.kind);
  double largest = state(at.h0);
  for (int32_t i = 0; i < count * kernels::recurrent_directions(params.direction); ++i) {
    const kernels::RecurrentActivation activation = kernels::recurrent_activation(params, i);
    const Interval made = activated({}, activation.kind, activation.alpha, activation.beta);
    const bool is_gate = i % count == 0 && params.kind != kRecurrentRnn;
    if (is_gate && (made.low < 0 || made.high > 1)) return {};
    largest = std::max(largest, made.magnitude());
  }
  if (params.kind != kRecurrentLstm) return Interval::within(largest);
  return Interval::within(state(at.c0) + largest * std::max(node.input(0).dims[0], 1));
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Recurrent,
    .onnx_types = "GRU LSTM RNN com.microsoft.DynamicQuantizeLSTM",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
};

}  // namespace codl::compiler::recurrent
