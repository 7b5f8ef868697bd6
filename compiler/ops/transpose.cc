#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::transpose {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const auto params = node.params<TransposeParams>();
  const int32_t perm[kMaxRank] = {params.perm_0, params.perm_1, params.perm_2, params.perm_3,
                                  params.perm_4, params.perm_5, params.perm_6, params.perm_7};
  const int32_t rank = node.input(0).rank();
  uint32_t seen = 0;
  llvm::SmallVector<int64_t, 4> dims;
  for (int32_t i = 0; i < rank; ++i) {
    if (perm[i] < 0 || perm[i] >= rank || (seen & (1u << perm[i])) != 0)
      return input_error(where, "expected a permutation of [0, {0}), found {1} at {2}", rank,
                         perm[i], i);
    seen |= 1u << perm[i];
    dims.push_back(node.input(0).dims[perm[i]]);
  }
  return checked_type(where, node.input(0).dtype, dims);
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView&) { return {}; }

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range) {
  return whole_extent(node.input(operand), dim);
}

void channels(const ir::NodeView& node, ChannelLinks& links) {
  const auto p = node.params<TransposeParams>();
  const int32_t perm[kMaxRank] = {p.perm_0, p.perm_1, p.perm_2, p.perm_3,
                                  p.perm_4, p.perm_5, p.perm_6, p.perm_7};
  for (int32_t d = 0; d < node.output().rank(); ++d)
    links.tie({0, perm[d]}, {ChannelLinks::kResult, d}, node.output().dims[d]);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Transpose,
    .onnx_types =
        "Einsum SpaceToDepth Transpose com.microsoft.Attention com.microsoft.GroupNorm "
        "com.microsoft.GroupQueryAttention com.microsoft.MultiHeadAttention "
        "com.microsoft.NhwcConv com.microsoft.NhwcFusedConv com.microsoft.SkipGroupNorm",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .bounds = same_bounds,
    .channels = channels,
};

}  // namespace codl::compiler::transpose
