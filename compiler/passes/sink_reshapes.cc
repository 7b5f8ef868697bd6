// Moves a Reshape after the elementwise node that reads it.
//
// Needs:   a Unary, or a Binary whose other operand is a constant of one element or of one per
//          index of the last dim, after a Reshape that keeps the last dim and has no other reader.
// Gives:   the elementwise node on the Reshape's operand, then the Reshape. Numerics are
//          unchanged.
// Order:   after fuse_unary_patterns, which look at a formula's nodes as they were written; before
//          eliminate_dead, which joins Reshapes that now follow each other; before the
//          fusions: a MatMul of a batch of matrices is one of rows between two Reshapes, and its
//          bias or activation follows it.
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

// Returns the index of an elementwise node's operand that is not constant; kNoId if there are two,
// or the constant does not fit.
uint32_t moved_operand(const ir::NodeView& node) {
  constexpr uint32_t kNone = ir::kNoId;
  if (node.node.op == OpKind::Unary) return 0;
  if (node.node.op != OpKind::Binary) return kNone;
  const uint32_t constant = node.input_value(0).is_constant ? 0 : 1;
  const ir::Value& value = node.input_value(constant);
  if (!value.is_constant || node.input_value(1 - constant).is_constant) return kNone;
  if (node.input(1 - constant).dims != node.output().dims || node.output().rank() == 0)
    return kNone;
  const int64_t count = value.type.element_count();
  const bool is_row = value.type.rank() > 0 && value.type.dims.back() == count &&
                      node.output().dims.back() == count;
  return count == 1 || is_row ? 1 - constant : kNone;
}

// Returns the constant with the rank of `like`: its elements lie along the last dim.
ir::ValueId with_rank(ir::Graph& graph, NewNames& names, ir::ValueId constant,
                      const ir::Dims& like) {
  const ir::Value& value = graph.value(constant);
  ir::TensorType type = value.type;
  type.dims.assign(like.size(), 1);
  type.dims.back() = static_cast<int32_t>(value.type.element_count());
  if (type.dims == value.type.dims) return constant;
  std::string name = names.take(value.name + ".row");
  SharedBytes bytes = value.bytes;
  return graph.add_constant(std::move(name), std::move(type), std::move(bytes));
}

void sink(ir::Graph& graph, Readers& readers, NewNames& names, ir::NodeId id) {
  const uint32_t moved = moved_operand(ir::NodeView{graph, graph.node(id)});
  if (moved == ir::kNoId) return;
  const ir::NodeId reshape = readers.sole_producer(graph.node(id).inputs[moved], id);
  if (reshape == ir::kNoId || graph.node(reshape).op != OpKind::Reshape) return;
  const ir::ValueId from = graph.node(reshape).inputs[0];
  const ir::Dims from_dims = graph.value(from).type.dims;
  const ir::Dims& to_dims = graph.value(graph.node(reshape).output).type.dims;
  if (from_dims.empty() || to_dims.empty() || from_dims.back() != to_dims.back()) return;

  // The two nodes swap places: the first now computes the second's function, on the type of its own
  // operand, and the second gives the result its dims.
  ir::Node computes = graph.node(id);
  ir::Node reshapes = graph.node(reshape);
  computes.inputs[moved] = from;
  if (computes.op == OpKind::Binary)
    computes.inputs[1 - moved] = with_rank(graph, names, computes.inputs[1 - moved], from_dims);
  computes.output = graph.node(reshape).output;
  ir::TensorType type = graph.value(graph.node(id).output).type;
  type.dims = from_dims;
  graph.value(computes.output).type = std::move(type);
  reshapes.inputs[0] = computes.output;
  reshapes.output = graph.node(id).output;
  readers.replace(reshape, std::move(computes));
  readers.replace(id, std::move(reshapes));
}

}  // namespace

llvm::Error sink_reshapes(ir::Graph& graph) {
  Readers readers(graph);
  NewNames names(graph);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) sink(graph, readers, names, id);
  graph.remove_unused_values();
  return llvm::Error::success();
}

}  // namespace codl::compiler
