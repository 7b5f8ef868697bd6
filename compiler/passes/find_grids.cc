// Finds the values that bytes can hold without loss, because quantisation has left their numbers on
// a grid, and the weights that lie on a grid for each output channel or, of products, for each
// block of a column.
//
// Needs:   Quantize8 as a node or an activation where the network rounds.
// Gives:   ir::Value::grid of results that grid_after() finds one for; and
//          ir::Value::has_channel_grids of weights that meet one, else ir::Value::blocks of
//          products' weights. Numerics are unchanged.
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
  // Says which questions about a constant are answered.
  struct Known {
    bool has_channels = false;
    bool has_blocks = false;
  };
  std::vector<Known> all_known(graph.values().size());
  for (const ir::Node& node : graph.nodes()) {
    graph.value(node.output).grid =
        grid_after(graph, node, [&](ir::ValueId id) { return graph.value(id).grid; });
    if (!has_weights(node)) continue;
    ir::Value& weights = graph.value(node.inputs[1]);
    if (!weights.is_constant) continue;
    Known& known = all_known[node.inputs[1]];
    if (graph.value(node.inputs[0]).grid && !known.has_channels) {
      known.has_channels = true;
      weights.has_channel_grids = have_channel_grids(weights, node.op);
    }
    if (node.op == OpKind::MatMul && !weights.has_channel_grids && !known.has_blocks) {
      known.has_blocks = true;
      weights.blocks = kernels::find_blocks(weights.as<float>().data(), weights.type.dims[0],
                                            weights.type.dims[1]);
    }
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
