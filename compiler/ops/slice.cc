#include "kernels/slice/slice.h"

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::slice {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  if (llvm::Error error = expect_typed(node, 0)) return error;
  const ir::TensorType& x = node.input(0);
  const kernels::SliceAxes axes = kernels::slice_axes(node.params<SliceParams>());
  llvm::SmallVector<int64_t, 4> dims;
  for (int32_t i = 0; i < x.rank(); ++i) {
    if (axes.step[i] == 0) return input_error(where, "expected steps other than 0, found 0");
    if (axes.count[i] < 1)
      return unsupported_error(where, "expected at least 1 element along axis {0}, found {1}", i,
                               axes.count[i]);
    const int64_t first = axes.start[i];
    const int64_t last = first + (int64_t{axes.count[i]} - 1) * axes.step[i];
    if (first < 0 || first >= x.dims[i] || last < 0 || last >= x.dims[i])
      return input_error(where, "expected elements in [0, {0}) along axis {1}, found {2} to {3}",
                         x.dims[i], i, first, last);
    dims.push_back(axes.count[i]);
  }
  return checked_type(where, x.dtype, dims);
}

// Elements that the slice skips are not read and may be removed.
void channels(const ir::NodeView& node, ChannelLinks& links) {
  const kernels::SliceAxes axes = kernels::slice_axes(node.params<SliceParams>());
  for (int32_t d = 0; d < node.output().rank(); ++d)
    for (int32_t i = 0; i < axes.count[d]; ++i)
      if (axes.step[d] == 1) links.tie({0, d}, axes.start[d] + i, {ChannelLinks::kResult, d}, i);
}

ir::OpParams params_of_kept(const ir::NodeView& node, KeptPlaces kept) {
  SliceParams params = node.params<SliceParams>();
  int32_t* const start[kMaxRank] = {&params.start_0, &params.start_1, &params.start_2,
                                    &params.start_3, &params.start_4, &params.start_5,
                                    &params.start_6, &params.start_7};
  int32_t* const count[kMaxRank] = {&params.count_0, &params.count_1, &params.count_2,
                                    &params.count_3, &params.count_4, &params.count_5,
                                    &params.count_6, &params.count_7};
  for (int32_t d = 0; d < node.output().rank(); ++d) {
    const llvm::BitVector& of_x = kept({0, d});
    int32_t removed_in_front = 0;
    for (int32_t i = 0; i < *start[d]; ++i) removed_in_front += of_x[i] ? 0 : 1;
    *start[d] -= removed_in_front;
    *count[d] = static_cast<int32_t>(kept({ChannelLinks::kResult, d}).count());
  }
  return ir::OpParams::of(OpKind::Slice, params);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Slice,
    .onnx_types =
        "CausalConvWithState CenterCropPad ConvInteger Det LinearAttention MatMulInteger "
        "RotaryEmbedding Scan Slice Split SplitToSequence com.microsoft.Attention "
        "com.microsoft.BiasSplitGelu com.microsoft.RotaryEmbedding",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = same_bounds,
    .channels = channels,
    .params_of_kept = params_of_kept,
};

}  // namespace codl::compiler::slice
