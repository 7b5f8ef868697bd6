#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::softmax {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  if (llvm::Error error = expect_operand(node, 0, -1)) return error;
  const int32_t axis = node.params<SoftmaxParams>().axis;
  if (axis < 0 || axis >= node.input(0).rank())
    return input_error(node.node.name, "expected an axis in [0, {0}), found {1}",
                       node.input(0).rank(), axis);
  ir::TensorType output = node.input(0);
  output.layout = Layout::Plain;
  return output;
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView&) { return {}; }

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range) {
  return whole_extent(node.input(operand), dim);
}

void channels(const ir::NodeView& node, ChannelLinks& links) {
  link_same_dims(node, links, 1u << node.params<SoftmaxParams>().axis);
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval>) {
  if (node.params<SoftmaxParams>().is_log != 0) return {Interval().low, 0};
  return {0, 1};
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Softmax,
    .onnx_types =
        "Attention LogSoftmax Softmax SoftmaxCrossEntropyLoss com.microsoft.Attention "
        "com.microsoft.BiasSoftmax com.microsoft.GroupQueryAttention "
        "com.microsoft.MultiHeadAttention com.microsoft.QLinearSoftmax",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .computes_in_nhwc = always_in_nhwc,
    .follows_layout = true,
    .bounds = bounds,
    .channels = channels,
};

}  // namespace codl::compiler::softmax
