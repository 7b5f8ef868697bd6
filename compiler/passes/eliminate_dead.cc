// Removes nodes that change nothing, and nodes and values that nothing uses.
//
// Needs:   nothing.
// Gives:   no Identity, no Reshape to the same dims, no Reshape of a Reshape, no Transpose that
//          keeps the order, no Convert to the same layout, no unused node or value. A node that
//          copies a graph input or constant to a graph output stays, and so does a Convert at a
//          graph input or output (assign_layouts puts it there on purpose). Numerics are unchanged.
// Order:   after fold_constants (leaves unused operands); before the fusions, which look at the
//          only user of a value.
#include <numeric>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

// Returns true if the output equals the first operand, element by element and in memory.
bool is_copy(const ir::Graph& graph, const ir::NodeView& node) {
  switch (node.node.op) {
    case OpKind::Unary:
      return node.params<UnaryParams>().kind == kUnaryIdentity;
    case OpKind::Reshape:
      return node.input(0).dims == node.output().dims;
    case OpKind::Transpose:
      return llvm::is_sorted(order_of(graph, node.node));
    case OpKind::Convert:
      return node.input(0).layout == node.output().layout && !node.input_value(0).is_input &&
             !graph.is_output(node.node.output);
    default:
      return false;
  }
}

// If the copy is a graph output, makes its operand the output. Returns false if the copy has to
// stay.
bool bypass(ir::Graph& graph, const ir::Node& copy) {
  const ir::ValueId from = copy.output;
  const ir::ValueId to = copy.inputs[0];
  if (graph.is_output(from)) {
    // The operand takes the output's name and memory, if it has none of its own.
    const ir::Value& source = graph.value(to);
    if (source.is_input || source.is_constant || graph.is_output(to)) return false;
    std::swap(graph.value(from).name, graph.value(to).name);
    graph.replace_output(from, to);
  }
  return true;
}

}  // namespace

llvm::Error eliminate_dead(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  // Holds, by value, the value that it copies.
  std::vector<ir::ValueId> source(graph.values().size());
  std::iota(source.begin(), source.end(), 0);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    ir::Node& node = graph.node(id);
    for (ir::ValueId& input : node.inputs) input = source[input];
    if (node.op == OpKind::Reshape) {
      // If Reshapes follow each other, only the last dims matter.
      const ir::NodeId producer = graph.value(node.inputs[0]).producer;
      if (producer != ir::kNoId && graph.node(producer).op == OpKind::Reshape)
        node.inputs[0] = graph.node(producer).inputs[0];
    }
    if (!is_copy(graph, ir::NodeView{graph, node})) continue;
    dead[id] = bypass(graph, node);
    if (dead[id]) source[node.output] = node.inputs[0];
  }

  // Goes backwards: a node is live if a graph output or a live node reads it.
  std::vector<bool> is_read(graph.values().size(), false);
  for (ir::ValueId output : graph.outputs()) is_read[output] = true;
  for (ir::NodeId id = static_cast<ir::NodeId>(graph.nodes().size()); id-- > 0;) {
    const ir::Node& node = graph.node(id);
    if (!is_read[node.output]) dead[id] = true;
    if (dead[id]) continue;
    for (ir::ValueId input : node.inputs) is_read[input] = true;
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
