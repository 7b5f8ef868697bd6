#include <cmath>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::normalize {
namespace {

// Scale and bias have the dims of x or 1, aligned from the right.
llvm::Error check_broadcast(const ir::NodeView& node, uint32_t operand) {
  if (llvm::Error error = expect_operand(node, operand, -1)) return error;
  const ir::TensorType& x = node.input(0);
  const ir::TensorType& type = node.input(operand);
  const int32_t missing = x.rank() - type.rank();
  bool fits = missing >= 0;
  for (int32_t i = 0; fits && i < type.rank(); ++i) {
    const int32_t dim = type.dims[static_cast<size_t>(i)];
    fits = dim == 1 || dim == x.dims[static_cast<size_t>(i + missing)];
  }
  if (fits) return llvm::Error::success();
  return input_error(node.node.name, "expected operand {0} to broadcast to {1}, found {2}", operand,
                     ir::to_string(x), ir::to_string(type));
}

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<NormalizeParams>();
  const uint32_t optional = (params.has_scale != 0 ? 1u : 0u) + (params.has_bias != 0 ? 1u : 0u);
  if (llvm::Error error = expect_operand_count(node, 1 + optional)) return error;
  if (llvm::Error error = expect_operand(node, 0, -1)) return error;
  for (uint32_t i = 1; i <= optional; ++i)
    if (llvm::Error error = check_broadcast(node, i)) return error;
  const ir::TensorType& x = node.input(0);
  if (params.axes_mask <= 0 || params.axes_mask >> x.rank() != 0)
    return input_error(node.node.name, "expected axes in [0, {0}), found mask {1}", x.rank(),
                       params.axes_mask);
  ir::TensorType y = x;
  y.layout = Layout::Plain;
  return y;
}

// Scale and bias are constants, which always stay Plain. A mean over the batch would read all of it
// per channel in either layout.
bool computes_in_nhwc(const ir::NodeView& node) {
  for (uint32_t i = 1; i < node.input_count(); ++i)
    if (!node.input_value(i).is_constant) return false;
  return (node.params<NormalizeParams>().axes_mask & 1) == 0;
}

// Returns true for instances, which normalize each channel by itself. Maps that are Plain, or have
// other computed operands, run whole.
bool has_channel_parts(const ir::NodeView& node) {
  constexpr int32_t kBatchAndChannels = 3;
  return node.output().rank() == 4 && node.output().layout == Layout::Nhwc &&
         (node.params<NormalizeParams>().axes_mask & kBatchAndChannels) == 0;
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  return split_rules(node.output(), false, has_channel_parts(node));
}

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  if (operand != 0 || dim != SplitDim::OutputChannel) return whole_extent(node.input(operand), dim);
  return same_range(node, operand, dim, output);
}

// Axes that the mean is computed over stay whole.
void channels(const ir::NodeView& node, ChannelLinks& links) {
  link_same_dims(node, links, static_cast<uint32_t>(node.params<NormalizeParams>().axes_mask));
}

// One of n numbers is sqrt(n) times their root of the mean square at most, and nearer to their
// mean.
Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<NormalizeParams>();
  double count = 1;
  for (int32_t i = 0; i < node.input(0).rank(); ++i)
    if ((params.axes_mask >> i & 1) != 0) count *= node.input(0).dims[static_cast<size_t>(i)];
  Interval result = Interval::within(std::sqrt(count));
  size_t next = 1;
  if (params.has_scale) result = result * operands[next++];
  if (params.has_bias) result = result + operands[next];
  return activated(result, params);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Normalize,
    .onnx_types =
        "GroupNormalization InstanceNormalization LayerNormalization "
        "MeanVarianceNormalization RMSNormalization SimplifiedLayerNormalization "
        "com.microsoft.EmbedLayerNormalization com.microsoft.GroupNorm "
        "com.microsoft.SimplifiedLayerNormalization com.microsoft.SkipGroupNorm "
        "com.microsoft.SkipLayerNormalization com.microsoft.SkipSimplifiedLayerNormalization",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .computes_in_nhwc = computes_in_nhwc,
    .follows_layout = true,
    .bounds = bounds,
    .channels = channels,
};

}  // namespace codl::compiler::normalize
