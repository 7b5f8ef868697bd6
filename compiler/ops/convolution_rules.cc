#include "compiler/ops/convolution_rules.h"

#include "compiler/support/error.h"

namespace codl::compiler {

using Operand = ConvolutionOperand;

llvm::Error check_convolution_operands(const ir::NodeView& node, bool has_residual) {
  if (llvm::Error error = expect_operand_count(node, has_residual ? 4 : 3)) return error;
  if (llvm::Error error = expect_operand(node, Operand::kX, 4)) return error;
  if (llvm::Error error = expect_operand(node, Operand::kW, 4)) return error;
  if (llvm::Error error = expect_operand(node, Operand::kBias, 1)) return error;
  return has_residual ? expect_operand(node, Operand::kResidual, 4) : llvm::Error::success();
}

llvm::Expected<ir::TensorType> infer_convolution(const ir::NodeView& node,
                                                 const ConvolutionWindow& window,
                                                 bool has_residual) {
  const llvm::StringRef where = node.node.name;
  const int32_t out_channels = node.input(Operand::kW).dims[0];
  if (node.input(Operand::kBias).dims[0] != out_channels)
    return input_error(where, "expected a bias of {0} elements, found {1}", out_channels,
                       node.input(Operand::kBias).dims[0]);
  if (llvm::Error error = check_window(where, window.height)) return error;
  if (llvm::Error error = check_window(where, window.width)) return error;
  const int64_t oh = window_count(window.height, false);
  const int64_t ow = window_count(window.width, false);
  if (oh < 1 || ow < 1)
    return input_error(where, "expected a filter that fits the padded input, found {0} over {1}",
                       ir::to_string(node.input(Operand::kW)),
                       ir::to_string(node.input(Operand::kX)));
  CODL_ASSIGN_OR_RETURN(
      output,
      checked_type(where, DType::F32, {node.input(Operand::kX).dims[0], out_channels, oh, ow}));
  if (has_residual && node.input(Operand::kResidual).dims != output.dims)
    return input_error(where, "expected a residual of {0}, found {1}", ir::to_string(output),
                       ir::to_string(node.input(Operand::kResidual)));
  return output;
}

Interval convolution_bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const ir::Value& weights = node.input_value(Operand::kW);
  const auto channels = static_cast<size_t>(weights.type.dims[0]);
  const size_t taps = weights.as<float>().size() / channels;
  std::vector<Interval> sums = weighted_sums(operands[Operand::kX].with(Interval::of(0)), weights,
                                             channels, [&](size_t i) { return i / taps; });
  add_bias(sums, node.input_value(Operand::kBias), operands[Operand::kBias]);
  const Interval all = hull_of(sums);
  return node.input_count() > Operand::kResidual ? all + operands[Operand::kResidual] : all;
}

}  // namespace codl::compiler
