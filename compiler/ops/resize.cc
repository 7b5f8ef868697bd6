#include "kernels/resize/resize.h"

#include <cmath>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::resize {
namespace {

llvm::Error check_members(const ir::NodeView& node, const ResizeParams& params) {
  const llvm::StringRef where = node.node.name;
  if (params.kind < kResizeNearest || params.kind > kResizeCubic)
    return input_error(where, "expected a kind of resizing, found {0}", params.kind);
  if (params.coordinates < kResizeHalfPixel || params.coordinates > kResizeTfHalfPixelForNn)
    return input_error(where, "expected coordinates of Resize, found {0}", params.coordinates);
  if (params.nearest < kResizeRoundPreferFloor || params.nearest > kResizeFloorOrCeil)
    return input_error(where, "expected a rounding of Resize, found {0}", params.nearest);
  if (params.coordinates == kResizeTfCropAndResize && !params.has_roi)
    return input_error(where, "expected a roi for tf_crop_and_resize, found none");
  return llvm::Error::success();
}

llvm::Error check_vector(const ir::NodeView& node, uint32_t operand, int32_t count) {
  if (llvm::Error error = expect_operand(node, operand, 1)) return error;
  if (node.input(operand).dims[0] != count)
    return input_error(node.node.name, "expected {0} elements in operand {1}, found {2}", count,
                       operand, node.input(operand).dims[0]);
  return llvm::Error::success();
}

// The dims are the output's own (ops.def): the node must have its output.
llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<ResizeParams>();
  const uint32_t scales = params.has_scales ? 1 : 0;
  const uint32_t roi = params.has_roi ? 1 : 0;
  if (llvm::Error error = expect_operand_count(node, 1 + scales + roi)) return error;
  if (llvm::Error error = check_members(node, params)) return error;
  const bool copies = params.kind == kResizeNearest;
  if (llvm::Error error = copies ? expect_typed(node, 0) : expect_operand(node, 0, -1))
    return error;
  const int32_t rank = node.input(0).rank();
  if (rank < 1 || node.output().rank() != rank)
    return input_error(node.node.name, "expected input and output of one rank, found {0} and {1}",
                       ir::to_string(node.input(0)), ir::to_string(node.output()));
  if (scales != 0)
    if (llvm::Error error = check_vector(node, 1, rank)) return error;
  if (roi != 0)
    if (llvm::Error error = check_vector(node, 1 + scales, 2 * rank)) return error;
  const ir::Dims& dims = node.output().dims;
  return checked_type(node.node.name, node.input(0).dtype,
                      llvm::SmallVector<int64_t, 4>(dims.begin(), dims.end()));
}

// Describes the node as a map that the f32 kernels compute, if it is one.
bool is_map(const ir::NodeView& node, kernels::ResizeMap* map) {
  return node.input(0).dtype == DType::F32 && node.input(0).rank() == 4 &&
         kernels::resize_is_map(node.params<ResizeParams>(), node.input(0).dims.data(),
                                node.output().dims.data(), map);
}

bool computes_in_nhwc(const ir::NodeView& node) {
  kernels::ResizeMap map;
  return is_map(node, &map);
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  kernels::ResizeMap map;
  const bool can_split = is_map(node, &map);
  return split_rules(node.output(), can_split, can_split);
}

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  kernels::ResizeMap map;
  if (operand != 0 || !is_map(node, &map)) return whole_extent(node.input(operand), dim);
  if (dim != SplitDim::Height) return same_range(node, operand, dim, output);
  if (node.input_value(operand).is_constant) return whole_extent(node.input(operand), dim);
  return kernels::resize_input_range(node.params<ResizeParams>(), map, output,
                                     node.input(0).dims[2]);
}

void channels(const ir::NodeView& node, ChannelLinks& links) {
  if (node.output().rank() > 1 && node.input(0).dims[1] == node.output().dims[1])
    link_channels(node, links);
}

// The weights of a cubic sum along an axis are 1 + |coefficient| / 2 in magnitude at most, unless
// some are left out and the others made larger.
Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<ResizeParams>();
  const Interval x = params.coordinates == kResizeTfCropAndResize
                         ? operands[0].with(Interval::of(double{params.extrapolation_value}))
                         : operands[0];
  if (params.kind != kResizeCubic) return x;
  if (params.excludes_outside || params.is_antialias) return {};
  const double most = 1 + std::fabs(double{params.cubic_coefficient}) / 2;
  return Interval::within(x.magnitude() * std::pow(most, node.input(0).rank()));
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Resize,
    .onnx_types = "Resize Upsample",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .computes_in_nhwc = computes_in_nhwc,
    .bounds = bounds,
    .channels = channels,
};

}  // namespace codl::compiler::resize
