#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::concat {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  const int32_t axis = node.params<ConcatParams>().axis;
  if (llvm::Error error = expect_typed(node, 0)) return error;
  const DType dtype = node.input(0).dtype;
  const ir::Dims& first = node.input(0).dims;
  if (axis < 0 || axis >= node.input(0).rank())
    return input_error(where, "expected an axis in [0, {0}), found {1}", first.size(), axis);
  llvm::SmallVector<int64_t, 4> dims(first.begin(), first.end());
  for (uint32_t i = 1; i < node.input_count(); ++i) {
    const ir::Dims& other = node.input(i).dims;
    if (node.input(i).dtype != dtype || other.size() != first.size())
      return input_error(where, "expected operands of one type and rank, found {0} and {1}",
                         ir::to_string(node.input(0)), ir::to_string(node.input(i)));
    for (int32_t d = 0; d < node.input(0).rank(); ++d)
      if (d != axis && other[d] != first[d])
        return input_error(where, "expected dims equal but for axis {0}, found {1} and {2}", axis,
                           ir::to_string(node.input(0)), ir::to_string(node.input(i)));
    dims[axis] += other[axis];
  }
  return checked_type(where, dtype, dims);
}

bool joins_channels(const ir::NodeView& node) { return node.params<ConcatParams>().axis == 1; }

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  if (node.output().dtype != DType::F32) return {};
  return split_rules(node.output(), joins_channels(node), false);
}

void channels(const ir::NodeView& node, ChannelLinks& links) {
  const int32_t axis = node.params<ConcatParams>().axis;
  int32_t begin = 0;
  for (uint32_t slot = 0; slot < node.input_count(); ++slot) {
    for (int32_t d = 0; d < node.output().rank(); ++d)
      for (int32_t i = 0; i < node.input(slot).dims[d]; ++i)
        links.tie({slot, d}, i, {ChannelLinks::kResult, d}, d == axis ? begin + i : i);
    begin += node.input(slot).dims[axis];
  }
}

Interval bounds(const ir::NodeView&, llvm::ArrayRef<Interval> operands) {
  return hull_of(operands);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Concat,
    .onnx_types =
        "CausalConvWithState Concat ConcatFromSequence LinearAttention RotaryEmbedding "
        "com.microsoft.GatherBlockQuantized com.microsoft.GroupQueryAttention "
        "com.microsoft.QLinearConcat com.microsoft.RotaryEmbedding",
    .infer = infer,
    .splits = splits,
    .input_range = same_range,
    .computes_in_nhwc = joins_channels,
    .bounds = bounds,
    .channels = channels,
};

}  // namespace codl::compiler::concat
