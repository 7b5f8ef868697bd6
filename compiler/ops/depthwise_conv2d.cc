#include "compiler/ops/convolution_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::depthwise_conv2d {
namespace {

using Operand = ConvolutionOperand;

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<DepthwiseConv2dParams>();
  if (llvm::Error error = check_convolution_operands(node, params.has_residual)) return error;
  const ir::Dims& x = node.input(Operand::kX).dims;
  const ir::Dims& w = node.input(Operand::kW).dims;
  if (w[0] != x[1] || w[1] != 1)
    return input_error(node.node.name, "expected filters [{0},1,kh,kw], found {1}", x[1],
                       ir::to_string(node.input(Operand::kW)));
  return infer_convolution(node, ConvolutionWindow::of<DepthwiseConv2dParams>(node),
                           params.has_residual);
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  return split_rules(node.output(), true, true);
}

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  if (operand == Operand::kX && dim == SplitDim::Height)
    return window_input_range(ConvolutionWindow::of<DepthwiseConv2dParams>(node).height, output);
  if (operand == Operand::kW || operand == Operand::kBias)
    return whole_extent(node.input(operand), dim);
  // Channels of x, and rows and channels of the residual, correspond one to one.
  return same_range(node, operand, dim, output);
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  return activated(convolution_bounds(node, operands), node.params<DepthwiseConv2dParams>());
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::DepthwiseConv2d,
    .onnx_types =
        "BatchNormalization Conv ConvInteger QLinearConv com.microsoft.FusedConv "
        "com.microsoft.NhwcConv com.microsoft.NhwcFusedConv com.microsoft.QLinearConv",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .computes_in_nhwc = always_in_nhwc,
    .bounds = bounds,
    .channels = link_depthwise,
};

}  // namespace codl::compiler::depthwise_conv2d
