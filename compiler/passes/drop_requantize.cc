// Removes quantising to 8 bits where the elements lie on the grid already, and a clamp before it
// whose limits are the grid's own. Lets quantising pass nodes that move elements, up to the node
// that computes them.
//
// Needs:   f32 Unary nodes Quantize8. A grid is the numbers that one of them gives (grids.h).
// Gives:   nothing in the place of a Quantize8 whose operand was rounded to the same grid, and only
//          moved since (moved_operands()); nor of a Relu or Clip that only a Quantize8 reads, if it
//          takes the clamp's limits to the ends of its grid. A Quantize8 whose operand a single
//          node moves stands before that node if its operand's producer may then compute it as its
//          activation; for a Concat always, since some of its operands may be on the grid.
//          Numerics are unchanged.
// Order:   after fuse_quantize_pairs, which makes the Quantize8; before the fusions, which want an
//          activation next to the node that computes it.
#include "compiler/ops/activation.h"
#include "compiler/passes/grids.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

class DropRequantize {
 public:
  explicit DropRequantize(ir::Graph& graph) : graph_(graph), names_(graph) {}

  // Returns true if quantising has moved.
  bool run() {
    Readers readers(graph_);
    grids_.resize(graph_.values().size());
    bool has_moved = false;
    const auto node_count = static_cast<ir::NodeId>(graph_.nodes().size());
    for (ir::NodeId id = 0; id < node_count; ++id) {
      if (const ir::Grid grid = grid_of_node(id)) {
        drop_clamps(readers, id, grid);
        if (is_on(grid, graph_.node(id).inputs[0]))
          become_copy(readers, id);
        else
          has_moved |= pass_mover(readers, id, grid);
      }
      grids_[graph_.node(id).output] = grid_after(
          graph_, graph_.node(id), [&](ir::ValueId value) { return grid_of_value(value); });
    }
    sort_nodes(graph_);
    return has_moved;
  }

 private:
  // Returns what a node Quantize8 rounds to.
  ir::Grid grid_of_node(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    return node.op == OpKind::Unary ? grid_of(node.params.as<UnaryParams>()) : ir::Grid();
  }

  // Values that were added since have none.
  ir::Grid grid_of_value(ir::ValueId id) const {
    return id < grids_.size() ? grids_[id] : ir::Grid();
  }

  bool is_on(const ir::Grid& grid, ir::ValueId id) const {
    return is_on_grid(graph_, id, grid, [&](ir::ValueId value) { return grid_of_value(value); });
  }

  // Every number below the grid becomes its lowest, every one above its highest: a clamp whose
  // limits become these, too, changes nothing.
  void drop_clamps(Readers& readers, ir::NodeId id, const ir::Grid& grid) {
    for (;;) {
      const ir::ValueId value = graph_.node(id).inputs[0];
      const ir::NodeId producer = readers.sole_producer(value, id);
      if (producer == ir::kNoId || graph_.node(producer).op != OpKind::Unary) return;
      const auto params = graph_.node(producer).params.as<UnaryParams>();
      const bool is_relu = params.kind == kUnaryRelu;
      if (!is_relu && params.kind != kUnaryClip) return;
      if (nearest_on_grid(grid, is_relu ? 0 : params.alpha) != lowest_of(grid)) return;
      if (!is_relu && nearest_on_grid(grid, params.beta) != highest_of(grid)) return;
      ir::Node node = graph_.node(id);
      node.inputs[0] = graph_.node(producer).inputs[0];
      readers.replace(id, std::move(node));
      readers.remove(producer);
    }
  }

  // eliminate_dead() removes it.
  void become_copy(Readers& readers, ir::NodeId id) {
    ir::Node node = graph_.node(id);
    node.params = ir::OpParams::of(OpKind::Unary, UnaryParams{.kind = kUnaryIdentity});
    readers.replace(id, std::move(node));
  }

  // Returns true if the node that computes `value`, which only `user` reads, computes an
  // activation, or moves elements of one that does.
  bool comes_from_operator(const Readers& readers, ir::ValueId value, ir::NodeId user) const {
    const ir::NodeId producer = readers.sole_producer(value, user);
    if (producer == ir::kNoId) return false;
    const ir::Node& node = graph_.node(producer);
    if (takes_activation(node) || node.op == OpKind::Concat) return true;
    const auto [first, last] = moved_operands(node);
    return last == first + 1 && comes_from_operator(readers, node.inputs[first], producer);
  }

  bool pass_mover(Readers& readers, ir::NodeId id, const ir::Grid& grid) {
    const ir::NodeId producer = readers.sole_producer(graph_.node(id).inputs[0], id);
    if (producer == ir::kNoId) return false;
    ir::Node move = graph_.node(producer);
    const auto [first, last] = moved_operands(move);
    if (first == last) return false;
    if (move.op != OpKind::Concat) {
      if (!comes_from_operator(readers, move.inputs[first], producer)) return false;
      for (size_t i = first + 1; i < last; ++i)
        if (!is_on(grid, move.inputs[i])) return false;
    }
    for (size_t i = first; i < last; ++i)
      if (!is_on(grid, move.inputs[i]))
        move.inputs[i] = add_quantize8(graph_, names_, move.inputs[i], grid);
    readers.replace(producer, std::move(move));
    become_copy(readers, id);
    return true;
  }

  ir::Graph& graph_;
  NewNames names_;
  std::vector<ir::Grid> grids_;  // indexed by value
};

}  // namespace

llvm::Error drop_requantize(ir::Graph& graph) {
  for (bool has_moved = true; has_moved;) {
    has_moved = DropRequantize(graph).run();
    if (llvm::Error error = eliminate_dead(graph)) return error;
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
