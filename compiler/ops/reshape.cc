#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::reshape {
namespace {

using Dim = ChannelLinks::Dim;

// The dims are the output's own (ops.def): unlike other operators the node must have its output.
llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const ir::Dims& output = node.output().dims;
  if (node.input(0).element_count() != node.output().element_count())
    return input_error(where, "expected as many elements as {0}, found {1}",
                       ir::to_string(node.input(0)), ir::to_string(node.output()));
  return checked_type(where, node.input(0).dtype,
                      llvm::SmallVector<int64_t, 4>(output.begin(), output.end()));
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView&) { return {}; }

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range) {
  return whole_extent(node.input(operand), dim);
}

// Where several dims become one, the outermost may lose elements (a channel is the whole run of its
// pixels). The same holds where one dim becomes several.
void channels(const ir::NodeView& node, ChannelLinks& links) {
  const ir::Dims& from = node.input(0).dims;
  const ir::Dims& to = node.output().dims;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    // Finds the shortest runs of dims with equally many elements.
    if (from[i] == 1) {
      ++i;
      continue;
    }
    if (to[j] == 1) {
      ++j;
      continue;
    }
    const Dim outer_from{0, static_cast<int32_t>(i)};
    const Dim outer_to{ChannelLinks::kResult, static_cast<int32_t>(j)};
    const size_t first_from = i, first_to = j;
    int64_t in = from[i++], out = to[j++];
    while (in != out) (in < out ? in *= from[i++] : out *= to[j++]);
    const int32_t least = std::min(from[first_from], to[first_to]);
    // There are several dims on both sides whose outermost differ, so none can be removed.
    if (from[first_from] % least != 0 || to[first_to] % least != 0) continue;
    if (i - first_from > 1 && j - first_to > 1 && from[first_from] != to[first_to]) continue;
    const int32_t run_from = from[first_from] / least, run_to = to[first_to] / least;
    for (int32_t k = 0; k < least; ++k) {
      links.tie(outer_from, k * run_from, outer_to, k * run_to);
      for (int32_t r = 1; r < run_from; ++r)
        links.tie(outer_from, k * run_from, outer_from, k * run_from + r);
      for (int32_t r = 1; r < run_to; ++r)
        links.tie(outer_to, k * run_to, outer_to, k * run_to + r);
    }
  }
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Reshape,
    .onnx_types = "Flatten Reshape SpaceToDepth Squeeze Unsqueeze",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .bounds = same_bounds,
    .channels = channels,
};

}  // namespace codl::compiler::reshape
