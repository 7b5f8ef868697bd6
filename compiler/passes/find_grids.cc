// Finds the values that bytes can hold without loss, because quantisation has left their numbers on
// a grid, and the weights that lie on a grid for each output channel.
//
// Needs:   Quantize8 as a node or an activation where the network rounds.
// Gives:   ir::Value::grid of results that grid_after() finds one for; and
//          ir::Value::has_channel_grids of weights that meet one. Numerics are unchanged.
// Order:   last: what changes a value, or weights, would change its grid.
#include "compiler/ops/channel_places.h"
#include "compiler/passes/grids.h"
#include "compiler/passes/passes.h"
#include "kernels/common/gemm/weight_grid.h"

namespace codl::compiler {
namespace {

bool have_channel_grids(const ir::Value& weights, OpKind op) {
  const float* const elements = weights.as<float>().data();
  const ChannelPlaces places = places_of(weights, op);
  for (int64_t c = 0; c < places.channels; ++c) {
    float scale;
    if (!kernels::find_channel_grid(elements + c * places.first_step, places.depth, places.step,
                                    &scale))
      return false;
  }
  return true;
}

}  // namespace

llvm::Error find_grids(ir::Graph& graph) {
  std::vector<bool> is_known(graph.values().size(), false);
  for (const ir::Node& node : graph.nodes()) {
    graph.value(node.output).grid =
        grid_after(graph, node, [&](ir::ValueId id) { return graph.value(id).grid; });
    if (!has_weights(node) || !graph.value(node.inputs[0]).grid || is_known[node.inputs[1]])
      continue;
    is_known[node.inputs[1]] = true;
    ir::Value& weights = graph.value(node.inputs[1]);
    weights.has_channel_grids = weights.is_constant && have_channel_grids(weights, node.op);
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
