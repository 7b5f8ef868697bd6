#include <algorithm>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::pool2d {
namespace {

WindowAxis height_axis(const ir::NodeView& node) {
  const auto params = node.params<Pool2dParams>();
  return {node.input(0).dims[2], params.kernel_h, params.stride_h,
          params.dilation_h,     params.pad_top,  params.pad_bottom};
}

WindowAxis width_axis(const ir::NodeView& node) {
  const auto params = node.params<Pool2dParams>();
  return {node.input(0).dims[3], params.kernel_w, params.stride_w,
          params.dilation_w,     params.pad_left, params.pad_right};
}

// Checks that every window has a tap inside the map, because nothing has no maximum and no average.
llvm::Error check_windows_reach_input(llvm::StringRef where, const WindowAxis& axis,
                                      int64_t count) {
  for (int64_t output = 0; output < count; ++output) {
    const int64_t first = axis.first_tap(output);
    // Finds the first tap at or after element 0. Windows that begin there need no check.
    const int64_t tap = first >= 0 ? 0 : ceil_div(-first, axis.dilation);
    if (tap >= axis.kernel || first + tap * axis.dilation >= axis.in)
      return input_error(where, "expected windows with an element, found window {0} in the padding",
                         output);
    // The first tap of every later window is inside, except that the last window may begin after
    // the end.
    if (first >= 0) output = std::max(output, count - 2);
  }
  return llvm::Error::success();
}

// If the output has more channels than the operand, these are whole panels of zeros (the pass
// widen_pools).
int64_t channel_count(const ir::NodeView& node) {
  const int32_t channels = node.input(0).dims[1];
  if (node.node.output == ir::kNoId || node.output().rank() != 4) return channels;
  const int32_t found = node.output().dims[1];
  const bool is_widened =
      found > channels && channels % kChannelPanel == 0 && found % kChannelPanel == 0;
  return is_widened ? found : channels;
}

bool adds_channels(const ir::NodeView& node) {
  return node.output().dims[1] != node.input(0).dims[1];
}

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<Pool2dParams>();
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  if (llvm::Error error = expect_operand(node, 0, 4)) return error;
  if (member_name(OpKind::Pool2d, params.kind).empty())
    return input_error(where, "expected a kind of pooling, found {0}", params.kind);
  if (llvm::Error error = check_window(where, height_axis(node))) return error;
  if (llvm::Error error = check_window(where, width_axis(node))) return error;
  const int64_t oh = window_count(height_axis(node), params.ceil_mode != 0);
  const int64_t ow = window_count(width_axis(node), params.ceil_mode != 0);
  if (oh < 1 || ow < 1)
    return input_error(where,
                       "expected a window that fits the padded input, found {0}x{1} over {2}",
                       params.kernel_h, params.kernel_w, ir::to_string(node.input(0)));
  const ir::Dims& x = node.input(0).dims;
  CODL_ASSIGN_OR_RETURN(output,
                        checked_type(where, DType::F32, {x[0], channel_count(node), oh, ow}));
  if (llvm::Error error = check_windows_reach_input(where, height_axis(node), oh)) return error;
  if (llvm::Error error = check_windows_reach_input(where, width_axis(node), ow)) return error;
  return output;
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  return split_rules(node.output(), true, !adds_channels(node));
}

void link(const ir::NodeView& node, ChannelLinks& links) {
  if (!adds_channels(node)) link_channels(node, links);
}

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  if (dim == SplitDim::Height) return window_input_range(height_axis(node), output);
  return same_range(node, operand, dim, output);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Pool2d,
    .onnx_types =
        "AveragePool GlobalAveragePool GlobalMaxPool MaxPool ReduceMean "
        "com.microsoft.QLinearAveragePool com.microsoft.QLinearGlobalAveragePool",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .computes_in_nhwc = always_in_nhwc,
    .bounds = bounds_with_zero,
    .channels = link,  // removed channels come before widen_pools
};

}  // namespace codl::compiler::pool2d
