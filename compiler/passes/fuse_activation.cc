// Makes a unary function the activation of the node before it.
//
// Needs:   an f32 Unary whose operand is computed by a node that takes an activation, has none yet,
//          and has no other user; a function that kernels compute
//          as an activation (is_activation()).
// Gives:   one node; numerics are unchanged (the node computes its activation last).
// Order:   after fold_batch_norm and fuse_residual, which stop at an activation.
#include "compiler/ops/activation.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "kernels/common/activation/activation.h"

namespace codl::compiler {

llvm::Error fuse_activation(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  Readers readers(graph);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    if (graph.node(id).op != OpKind::Unary) continue;
    if (graph.value(graph.node(id).inputs[0]).type.dtype != DType::F32) continue;
    const ir::ValueId value = graph.node(id).inputs[0];
    const ir::NodeId producer = graph.value(value).producer;
    if (producer == ir::kNoId) continue;
    ir::Node fused = graph.node(producer);
    if (!takes_activation(fused) || last_function(fused).kind != kUnaryIdentity) continue;
    const auto activation = graph.node(id).params.as<UnaryParams>();
    if (!kernels::is_activation(activation.kind)) continue;
    if (readers.sole_producer(value, id) == ir::kNoId) continue;
    set_activation(fused, activation);
    fused.output = graph.node(id).output;
    readers.replace(id, std::move(fused));
    dead[producer] = true;
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
