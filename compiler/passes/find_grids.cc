// Finds the values that bytes can hold without loss, because quantisation has left their numbers on
// a grid, and the weights that lie on a grid for each output channel.
//
// Needs:   Quantize8 as a node or an activation where the network rounds.
// Gives:   ir::Value::grid of what is rounded, and of what only moves such elements or chooses
// among
//          them; ir::Value::has_channel_grids of weights that meet one. Numerics are unchanged.
// Order:   last: what changes a value, or weights, would change its grid.
#include <cmath>

#include "compiler/passes/passes.h"
#include "kernels/common/gemm/weight_grid.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

constexpr int32_t kLowestByte = -128;

ir::Grid grid_of(int32_t activation, float scale, float lowest) {
  if (activation != kUnaryQuantize8 || !(scale > 0) || !std::isfinite(scale)) return {};
  // `lowest` counts the steps of the grid below zero.
  const auto zero_point = static_cast<int32_t>(lowest) + kLowestByte;
  if (zero_point < kLowestByte || zero_point >= kLowestByte + 256) return {};
  return {scale, zero_point};
}

template <typename Params>
ir::Grid grid_of_activation(const ir::Node& node) {
  const auto params = node.params.as<Params>();
  return grid_of(params.activation, params.activation_alpha, params.activation_beta);
}

// Returns the one grid that all operands `operands` have; none if they differ, or one has none.
ir::Grid common_grid(const ir::Graph& graph, llvm::ArrayRef<ir::ValueId> operands) {
  const ir::Grid grid = graph.value(operands.front()).grid;
  const bool is_common =
      llvm::all_of(operands, [&](ir::ValueId id) { return graph.value(id).grid == grid; });
  return is_common ? grid : ir::Grid();
}

ir::Grid grid_of(const ir::Graph& graph, const ir::Node& node) {
  switch (node.op) {
    case OpKind::Unary: {
      const auto params = node.params.as<UnaryParams>();
      return grid_of(params.kind, params.alpha, params.beta);
    }
    case OpKind::Conv2d:
      return grid_of_activation<Conv2dParams>(node);
    case OpKind::DepthwiseConv2d:
      return grid_of_activation<DepthwiseConv2dParams>(node);
    case OpKind::MatMul:
      return grid_of_activation<MatMulParams>(node);
    case OpKind::Binary:
      return grid_of_activation<BinaryParams>(node);
    case OpKind::Pool2d:
      if (node.params.as<Pool2dParams>().kind != kPool2dMax) return {};
      return common_grid(graph, node.inputs);
    case OpKind::Resize:
      if (node.params.as<ResizeParams>().kind != kResizeNearest || node.inputs.size() != 1)
        return {};
      return common_grid(graph, node.inputs);
    case OpKind::Pad:
      if (node.inputs.size() != 1) return {};  // zero is on every grid
      return common_grid(graph, node.inputs);
    case OpKind::Concat:
    case OpKind::Transpose:
    case OpKind::Reshape:
    case OpKind::Convert:
    case OpKind::Slice:
    case OpKind::Expand:
    case OpKind::DepthToSpace:
      return common_grid(graph, node.inputs);
    case OpKind::Gather:
      return common_grid(graph, llvm::makeArrayRef(node.inputs).take_front());
    default:
      return {};
  }
}

bool have_channel_grids(const ir::Value& weights, OpKind op) {
  const llvm::ArrayRef<float> elements = weights.as<float>();
  const int64_t channels = op == OpKind::MatMul ? weights.type.dims[1] : weights.type.dims[0];
  const int64_t depth = static_cast<int64_t>(elements.size()) / channels;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const bool are_columns = op == OpKind::MatMul;
    const float* const first = elements.data() + channel * (are_columns ? 1 : depth);
    float scale;
    if (!kernels::find_channel_grid(first, depth, are_columns ? channels : 1, &scale)) return false;
  }
  return true;
}

}  // namespace

llvm::Error find_grids(ir::Graph& graph) {
  std::vector<bool> is_known(graph.values().size(), false);
  for (const ir::Node& node : graph.nodes()) {
    ir::Value& output = graph.value(node.output);
    if (output.type.dtype == DType::F32) output.grid = grid_of(graph, node);
    const bool has_weights = node.op == OpKind::Conv2d || node.op == OpKind::DepthwiseConv2d ||
                             node.op == OpKind::MatMul;
    if (!has_weights || !graph.value(node.inputs[0]).grid || is_known[node.inputs[1]]) continue;
    is_known[node.inputs[1]] = true;
    ir::Value& weights = graph.value(node.inputs[1]);
    weights.has_channel_grids = weights.is_constant && have_channel_grids(weights, node.op);
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
