// Makes one product of a value and that value times a gate: x + x g = x (1 + g).
//
// Needs:   f32; a gate with fewer elements than x, as squeeze-and-excitation has it; a
//          product that nobody else reads.
// Gives:   1 + g, of few elements, and the product with it in the place of the sum: one pass over
//          the map less. Numerics change by rounding only.
// Order:   after fuse_unary_patterns, which knows formulas of such sums; before fuse_residual,
//          which would take the sum into a convolution and leave the product.
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

void fuse_gate(ir::Graph& graph, Readers& readers, ir::NodeId id) {
  if (!is_binary(graph, graph.node(id), kBinaryAdd)) return;
  ir::Node sum = graph.node(id);
  for (size_t i = 0; i < 4; ++i) {
    const ir::ValueId x = sum.inputs[i % 2];
    const ir::NodeId producer = readers.sole_producer(sum.inputs[1 - i % 2], id);
    if (producer == ir::kNoId || !is_binary(graph, graph.node(producer), kBinaryMul)) continue;
    ir::Node product = graph.node(producer);
    const ir::ValueId gate = product.inputs[i / 2];
    if (product.inputs[1 - i / 2] != x || graph.value(x).is_constant ||
        graph.value(gate).is_constant ||
        graph.value(gate).type.element_count() >= graph.value(x).type.element_count() ||
        graph.value(x).type.dims != graph.value(sum.output).type.dims)
      continue;
    product.op = OpKind::Unary;
    product.params =
        ir::OpParams::of(OpKind::Unary, UnaryParams{.kind = kUnaryAffine, .alpha = 1, .beta = 1});
    product.inputs = {gate};
    graph.value(product.output).type = graph.value(gate).type;
    sum.params = ir::OpParams::of(OpKind::Binary, BinaryParams{.kind = kBinaryMul});
    sum.inputs = {x, product.output};
    readers.replace(producer, std::move(product));
    readers.replace(id, std::move(sum));
    return;
  }
}

}  // namespace

llvm::Error fuse_gates(ir::Graph& graph) {
  Readers readers(graph);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) fuse_gate(graph, readers, id);
  return llvm::Error::success();
}

}  // namespace codl::compiler
