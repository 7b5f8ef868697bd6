#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

enum Operand : uint32_t { kX = 0, kW = 1, kBias = 2, kResidual = 3 };

WindowAxis height_axis(const ir::NodeView& node) {
  const auto params = node.params<Conv2dParams>();
  return {node.input(kX).dims[2], node.input(kW).dims[2], params.stride_h,
          params.dilation_h,      params.pad_top,         params.pad_bottom};
}

WindowAxis width_axis(const ir::NodeView& node) {
  const auto params = node.params<Conv2dParams>();
  return {node.input(kX).dims[3], node.input(kW).dims[3], params.stride_w,
          params.dilation_w,      params.pad_left,        params.pad_right};
}

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<Conv2dParams>();
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, params.has_residual ? 4 : 3)) return error;
  if (llvm::Error error = expect_operand(node, kX, 4)) return error;
  if (llvm::Error error = expect_operand(node, kW, 4)) return error;
  if (llvm::Error error = expect_operand(node, kBias, 1)) return error;
  const ir::Dims& x = node.input(kX).dims;
  const ir::Dims& w = node.input(kW).dims;
  if (params.groups < 1 || w[0] % params.groups != 0)
    return input_error(where, "expected groups that divide {0} output channels, found {1}", w[0],
                       params.groups);
  if (int64_t{w[1]} * params.groups != x[1])
    return input_error(where, "expected {0} input channels ({1} groups of {2}), found {3}",
                       int64_t{w[1]} * params.groups, params.groups, w[1], x[1]);
  if (node.input(kBias).dims[0] != w[0])
    return input_error(where, "expected a bias of {0} elements, found {1}", w[0],
                       node.input(kBias).dims[0]);
  if (llvm::Error error = check_window(where, height_axis(node))) return error;
  if (llvm::Error error = check_window(where, width_axis(node))) return error;
  const int64_t oh = window_count(height_axis(node), false);
  const int64_t ow = window_count(width_axis(node), false);
  if (oh < 1 || ow < 1)
    return input_error(where, "expected a filter that fits the padded input, found {0} over {1}",
                       ir::to_string(node.input(kW)), ir::to_string(node.input(kX)));
  CODL_ASSIGN_OR_RETURN(output, checked_type(where, DType::F32, {x[0], w[0], oh, ow}));
  if (params.has_residual) {
    if (llvm::Error error = expect_operand(node, kResidual, 4)) return error;
    if (node.input(kResidual).dims != output.dims)
      return input_error(where, "expected a residual of {0}, found {1}", ir::to_string(output),
                         ir::to_string(node.input(kResidual)));
  }
  return output;
}

Work work(const ir::NodeView& node) {
  Work result = elementwise_work(node);
  const ir::Dims& w = node.input(kW).dims;
  result.macs = static_cast<double>(node.output().element_count()) * w[1] * w[2] * w[3];
  return result;
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  // A panel of output channels of a grouped convolution would read the channels of several groups.
  const bool is_dense = node.params<Conv2dParams>().groups == 1;
  return split_rules(node.output(), true, is_dense);
}

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  if (operand == kResidual) return same_range(node, operand, dim, output);
  if (operand == kX && dim == SplitDim::Height)
    return window_input_range(height_axis(node), output);
  // Every output channel reads every input channel.
  return whole_extent(node.input(operand), dim);
}

}  // namespace

extern const OpSpec kConv2dSpec;
const OpSpec kConv2dSpec = {
    .kind = OpKind::Conv2d,
    .onnx_types = "Conv",
    .infer = infer,
    .work = work,
    .splits = splits,
    .input_range = input_range,
};

}  // namespace codl::compiler
