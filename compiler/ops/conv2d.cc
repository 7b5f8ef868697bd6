#include "compiler/ops/convolution_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::conv2d {
namespace {

using Operand = ConvolutionOperand;

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<Conv2dParams>();
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = check_convolution_operands(node, params.has_residual)) return error;
  const ir::Dims& x = node.input(Operand::kX).dims;
  const ir::Dims& w = node.input(Operand::kW).dims;
  if (params.groups < 1 || w[0] % params.groups != 0)
    return input_error(where, "expected groups that divide {0} output channels, found {1}", w[0],
                       params.groups);
  if (int64_t{w[1]} * params.groups != x[1])
    return input_error(where, "expected {0} input channels ({1} groups of {2}), found {3}",
                       int64_t{w[1]} * params.groups, params.groups, w[1], x[1]);
  return infer_convolution(node, ConvolutionWindow::of<Conv2dParams>(node), params.has_residual);
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  // A panel of output channels of a grouped convolution would read the channels of several groups.
  const bool is_dense = node.params<Conv2dParams>().groups == 1;
  return split_rules(node.output(), true, is_dense);
}

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  if (operand == Operand::kResidual) return same_range(node, operand, dim, output);
  if (operand == Operand::kX && dim == SplitDim::Height)
    return window_input_range(ConvolutionWindow::of<Conv2dParams>(node).height, output);
  // Every output channel reads every input channel.
  return whole_extent(node.input(operand), dim);
}

void channels(const ir::NodeView& node, ChannelLinks& links) {
  link_convolution(node, links, node.params<Conv2dParams>().groups);
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  return activated(convolution_bounds(node, operands), node.params<Conv2dParams>());
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Conv2d,
    .onnx_types =
        "Conv ConvInteger DeformConv QLinearConv com.microsoft.FusedConv "
        "com.microsoft.NhwcConv com.microsoft.NhwcFusedConv com.microsoft.QLinearConv",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .computes_in_nhwc = always_in_nhwc,
    .bounds = bounds,
    .channels = channels,
};

}  // namespace codl::compiler::conv2d
