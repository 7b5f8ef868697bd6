#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::attention {
namespace {

llvm::Error check_operands(const ir::NodeView& node) {
  const bool has_bias = node.params<AttentionParams>().has_bias != 0;
  if (llvm::Error error = expect_operand_count(node, has_bias ? 4 : 3)) return error;
  for (uint32_t i = 0; i < 3; ++i)
    if (llvm::Error error = expect_operand(node, i, 4)) return error;
  return has_bias ? expect_operand(node, 3, 4) : llvm::Error::success();
}

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = check_operands(node)) return error;
  const ir::Dims& q = node.input(0).dims;
  const ir::Dims& k = node.input(1).dims;
  const ir::Dims& v = node.input(2).dims;
  if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || q[1] % k[1] != 0 || k[2] != v[2] ||
      k[3] != q[3])
    return input_error(node.node.name, "expected Q, K and V that fit, found {0}, {1} and {2}",
                       ir::to_string(node.input(0)), ir::to_string(node.input(1)),
                       ir::to_string(node.input(2)));
  if (node.input_count() == 4) {
    const ir::Dims& bias = node.input(3).dims;
    const int64_t scores[] = {q[0], q[1], q[2], k[2]};
    bool fits = true;
    for (size_t i = 0; fits && i < 4; ++i) fits = bias[i] == 1 || bias[i] == scores[i];
    if (!fits)
      return input_error(node.node.name, "expected a bias that broadcasts to the scores, found {0}",
                         ir::to_string(node.input(3)));
  }
  return checked_type(node.node.name, DType::F32, {q[0], q[1], q[2], v[3]});
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  return split_rules(node.output(), true, false);
}

// A row reads its query, and its row of the bias if that has rows.
Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  const bool has_rows = operand == 0 || operand == 3;
  if (!has_rows || dim != SplitDim::Height) return whole_extent(node.input(operand), dim);
  return same_range(node, operand, dim, output);
}

// Heads and sizes of queries and keys are tied; values have their own size.
void channels(const ir::NodeView& node, ChannelLinks& links) {
  links.tie({0, 3}, {1, 3}, node.input(0).dims[3]);
  links.tie({2, 3}, {ChannelLinks::kResult, 3}, node.output().dims[3]);
}

// It is a mean of values, weighted by numbers that add up to 1.
Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  if (node.params<AttentionParams>().zero_if_hidden != 0) return operands[2].with(Interval::of(0));
  return operands[2];
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Attention,
    .onnx_types =
        "Attention com.microsoft.Attention com.microsoft.GroupQueryAttention "
        "com.microsoft.MultiHeadAttention",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .bounds = bounds,
    .channels = channels,
};

}  // namespace codl::compiler::attention
