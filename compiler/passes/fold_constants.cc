// Replaces nodes whose operands are all constants by their result.
//
// Needs:   a plain graph (no Convert).
// Gives:   constants in place of the nodes; the reference kernels compute the bytes. Results above
//          kMaxFoldedElements stay nodes, and so do those that the EvaluationBudget has no room
//          for: kMaxFoldedBytes besides the weights as floats, of the bytes that the import left.
//          Nodes that no output needs are left alone.
// Order:   first, because the fusions may use its constants.
#include "compiler/interp/interpreter.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// This is 64 MiB of float: a broadcast of two small constants must not become most of a plan.
constexpr int64_t kMaxFoldedElements = int64_t{1} << 24;
// Limits the bytes of all results, besides one copy of each weight as floats.
constexpr int64_t kMaxFoldedBytes = int64_t{1} << 26;

// Returns for each value whether an output needs it.
std::vector<bool> needed_values(const ir::Graph& graph) {
  std::vector<bool> needed(graph.values().size(), false);
  for (ir::ValueId output : graph.outputs()) needed[output] = true;
  for (const ir::Node& node : llvm::reverse(graph.nodes()))
    if (needed[node.output])
      for (ir::ValueId input : node.inputs) needed[input] = true;
  return needed;
}

}  // namespace

llvm::Error fold_constants(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  const std::vector<bool> needed = needed_values(graph);
  DistinctBytes weights;
  for (const ir::Value& value : graph.values())
    weights.add(value.bytes, dtype_bytes(value.type.dtype));
  EvaluationBudget budget(
      std::min(graph.computed_bytes_left, kMaxFoldedBytes + weights.as_floats()));
  budget.add_time_for(weights.count());
  Readers readers(graph);
  std::vector<bool> is_folded(graph.values().size(), false);
  // Goes in graph order, so that a constant found here makes its users constant in the same sweep.
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    const ir::NodeView view{graph, graph.node(id)};
    if (!needed[view.node.output]) continue;
    llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> inputs;
    for (uint32_t i = 0; i < view.input_count(); ++i)
      if (view.input_value(i).is_constant) inputs.push_back(view.input_value(i).bytes);
    if (inputs.size() != view.input_count()) continue;
    // Operands that only this node reads are freed with it: in a chain of nodes two values are
    // held, not all.
    int64_t freed = 0;
    for (ir::ValueId input : view.node.inputs)
      if (is_folded[input] && readers.count(input) == 1 && !graph.is_output(input))
        freed += static_cast<int64_t>(graph.value(input).bytes.size());
    if (view.output().element_count() > kMaxFoldedElements || !budget.take(view, freed)) continue;

    CODL_ASSIGN_OR_RETURN(bytes, evaluate_node(view, inputs));
    ir::Value& output = graph.value(view.node.output);
    output.is_constant = true;
    output.bytes = std::move(bytes);
    output.producer = ir::kNoId;
    is_folded[view.node.output] = true;
    dead[id] = true;
    readers.remove(id);
    for (ir::ValueId input : graph.node(id).inputs)
      if (readers.count(input) == 0 && !graph.is_output(input)) graph.value(input).bytes = {};
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
