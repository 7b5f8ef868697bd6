// Finds the values that bytes can hold without loss, because quantisation has left their numbers on
// a grid, and the weights that lie on a grid for each output channel.
//
// Needs:   Quantize8 as a node or an activation where the network rounds.
// Gives:   ir::Value::grid of results that grid_after() finds one for; and
//          ir::Value::has_channel_grids of weights that meet one. Numerics are unchanged.
// Order:   last: what changes a value, or weights, would change its grid.
#include "compiler/passes/grids.h"
#include "compiler/passes/passes.h"
#include "kernels/common/gemm/weight_grid.h"

namespace codl::compiler {
namespace {

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
    graph.value(node.output).grid =
        grid_after(graph, node, [&](ir::ValueId id) { return graph.value(id).grid; });
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
