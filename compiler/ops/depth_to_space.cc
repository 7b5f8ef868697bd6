#include "kernels/depth_to_space/depth_to_space.h"

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler::depth_to_space {
namespace {

// The dims are the output's own (ops.def): the node must have its output.
llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<DepthToSpaceParams>();
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  if (llvm::Error error = expect_typed(node, 0)) return error;
  if (node.input(0).rank() != 4 || node.output().rank() != 4)
    return input_error(where, "expected input and output of rank 4, found {0} and {1}",
                       ir::to_string(node.input(0)), ir::to_string(node.output()));
  if (params.block_h < 1 || params.block_h > kMaxDim || params.block_w < 1 ||
      params.block_w > kMaxDim)
    return input_error(where, "expected a block of 1 to {0} pixels, found {1}x{2}", kMaxDim,
                       params.block_h, params.block_w);
  if (params.crop_top < 0 || params.crop_top > kMaxDim || params.crop_left < 0 ||
      params.crop_left > kMaxDim)
    return input_error(where, "expected a crop of 0 to {0} pixels, found {1} and {2}", kMaxDim,
                       params.crop_top, params.crop_left);
  const ir::Dims& x = node.input(0).dims;
  const ir::Dims& y = node.output().dims;
  const int64_t block = int64_t{params.block_h} * params.block_w;
  if (x[0] != y[0] || block > kMaxDim || block * y[1] != x[1])
    return input_error(where, "expected channels in blocks of {0}, found {1} for {2}", block,
                       ir::to_string(node.input(0)), ir::to_string(node.output()));
  if (!kernels::depth_to_space_is_inside(params, x.data(), y.data()))
    return input_error(where, "expected pixels of {0} behind a crop of {1} and {2}, found {3}",
                       ir::to_string(node.input(0)), params.crop_top, params.crop_left,
                       ir::to_string(node.output()));
  return checked_type(where, node.input(0).dtype,
                      llvm::SmallVector<int64_t, 4>(y.begin(), y.end()));
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  if (node.output().dtype != DType::F32) return {};
  // Otherwise a panel of output channels would come from all over the input.
  const bool is_channel_major = node.params<DepthToSpaceParams>().is_channel_major != 0;
  return split_rules(node.output(), true, is_channel_major);
}

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  const auto params = node.params<DepthToSpaceParams>();
  if (node.input_value(operand).is_constant) return whole_extent(node.input(operand), dim);
  if (dim == SplitDim::Height) return kernels::depth_to_space_input_range(params, output);
  const int32_t block = params.block_h * params.block_w;
  return params.is_channel_major ? Range{output.begin * block, output.end * block}
                                 : whole_extent(node.input(operand), dim);
}

// A channel of the result is a block of channels of x.
void channels(const ir::NodeView& node, ChannelLinks& links) {
  const auto params = node.params<DepthToSpaceParams>();
  const int32_t block = params.block_h * params.block_w;
  const int32_t result = node.output().dims[1];
  for (int32_t i = 0; i < node.input(0).dims[1]; ++i)
    links.tie({0, 1}, i, {ChannelLinks::kResult, 1},
              params.is_channel_major ? i / block : i % result);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::DepthToSpace,
    .onnx_types = "DepthToSpace ConvTranspose",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .computes_in_nhwc = always_in_nhwc,
    .bounds = bounds_with_zero,
    .channels = channels,
};

}  // namespace codl::compiler::depth_to_space
