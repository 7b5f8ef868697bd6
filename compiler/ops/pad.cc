#include "kernels/pad/pad.h"

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::pad {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  const auto params = node.params<PadParams>();
  const bool has_value = params.has_value != 0;
  if (llvm::Error error = expect_operand_count(node, has_value ? 2 : 1)) return error;
  if (llvm::Error error = expect_typed(node, 0)) return error;
  const ir::TensorType& x = node.input(0);
  if (params.kind < kPadConstant || params.kind > kPadWrap)
    return input_error(where, "expected a kind of padding, found {0}", params.kind);
  if (has_value) {
    if (llvm::Error error = expect_typed(node, 1, x.dtype)) return error;
    if (node.input(1).element_count() != 1)
      return input_error(where, "expected a value of one element, found {0}",
                         ir::to_string(node.input(1)));
  }
  const kernels::PadAxes pads = kernels::pad_axes(params);
  llvm::SmallVector<int64_t, 4> dims;
  for (int32_t i = 0; i < x.rank(); ++i) {
    if (pads.begin[i] < 0 || pads.end[i] < 0)
      return input_error(where, "expected pads >= 0 along axis {0}, found {1} and {2}", i,
                         pads.begin[i], pads.end[i]);
    dims.push_back(int64_t{pads.begin[i]} + x.dims[i] + pads.end[i]);
  }
  return checked_type(where, x.dtype, dims);
}

// Pixels are moved whole. A constant's channels are added in Nhwc only if the map is there already:
// in Plain, channels come one after the other, and two Converts would cost more.
bool computes_in_nhwc(const ir::NodeView& node) {
  const auto params = node.params<PadParams>();
  const kernels::PadAxes pads = kernels::pad_axes(params);
  if (pads.begin[0] != 0 || pads.end[0] != 0) return false;
  if (pads.begin[1] == 0 && pads.end[1] == 0) return true;
  return params.kind == kPadConstant &&
         (node.input(0).layout == Layout::Nhwc || node.input_value(0).is_input);
}

// Batches are padded in Plain, where nodes run whole; nodes that add channels are cut along rows
// alone.
llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  const kernels::PadAxes pads = kernels::pad_axes(node.params<PadParams>());
  const bool is_map = node.output().rank() == 4 && node.output().layout == Layout::Nhwc;
  return split_rules(node.output(), is_map, is_map && pads.begin[1] == 0 && pads.end[1] == 0);
}

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output) {
  if (operand != 0 || node.input_value(operand).is_constant)
    return whole_extent(node.input(operand), dim);
  if (dim != SplitDim::Height) return same_range(node, operand, dim, output);
  const auto params = node.params<PadParams>();
  return kernels::pad_input_range(params.kind, kernels::pad_axes(params).begin[2], output,
                                  node.input(0).dims[2]);
}

// Added elements belong to the result alone; if the padding repeats elements, nothing is removed.
void channels(const ir::NodeView& node, ChannelLinks& links) {
  const auto params = node.params<PadParams>();
  const kernels::PadAxes pads = kernels::pad_axes(params);
  for (int32_t d = 0; d < node.output().rank(); ++d)
    if (params.kind == kPadConstant || (pads.begin[d] == 0 && pads.end[d] == 0))
      for (int32_t i = 0; i < node.input(0).dims[d]; ++i)
        links.tie({0, d}, i, {ChannelLinks::kResult, d}, pads.begin[d] + i);
}

ir::OpParams params_of_kept(const ir::NodeView& node, KeptPlaces kept) {
  PadParams params = node.params<PadParams>();
  int32_t* const begin[kMaxRank] = {&params.begin_0, &params.begin_1, &params.begin_2,
                                    &params.begin_3, &params.begin_4, &params.begin_5,
                                    &params.begin_6, &params.begin_7};
  int32_t* const end[kMaxRank] = {&params.end_0, &params.end_1, &params.end_2, &params.end_3,
                                  &params.end_4, &params.end_5, &params.end_6, &params.end_7};
  for (int32_t d = 0; d < node.output().rank(); ++d) {
    const llvm::BitVector& of_y = kept({ChannelLinks::kResult, d});
    const int32_t of_x = node.input(0).dims[d];
    int32_t in_front = 0, behind = 0;
    for (int32_t i = 0; i < *begin[d]; ++i) in_front += of_y[i] ? 1 : 0;
    for (int32_t i = *begin[d] + of_x; i < node.output().dims[d]; ++i) behind += of_y[i] ? 1 : 0;
    *begin[d] = in_front;
    *end[d] = behind;
  }
  return ir::OpParams::of(OpKind::Pad, params);
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<PadParams>();
  if (params.has_value != 0) return operands[0].with(operands[1]);
  return params.kind == kPadConstant ? bounds_with_zero(node, operands) : operands[0];
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Pad,
    .onnx_types = "CenterCropPad Pad",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .computes_in_nhwc = computes_in_nhwc,
    .bounds = bounds,
    .channels = channels,
    .params_of_kept = params_of_kept,
};

}  // namespace codl::compiler::pad
