// Makes a unary function the activation of the node before it.
//
// Needs:   an f32 Unary whose operand is computed by a Conv2d, DepthwiseConv2d, MatMul, Binary or
//          Normalize that has no activation yet and no other user; a function that kernels compute
//          as an activation (is_activation()).
// Gives:   one node; numerics are unchanged (the node computes its activation last).
// Order:   after fold_batch_norm and fuse_residual, which stop at an activation.
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "kernels/common/activation/activation.h"

namespace codl::compiler {
namespace {

// Sets the activation in the node's parameters. Returns false, unchanged, if it has one already.
template <typename Params>
bool set_activation(ir::Node& node, const UnaryParams& unary) {
  auto params = node.params.as<Params>();
  if (params.activation != kUnaryIdentity) return false;
  params.activation = unary.kind;
  params.activation_alpha = unary.alpha;
  params.activation_beta = unary.beta;
  node.params = ir::OpParams::of(node.op, params);
  return true;
}

bool take_activation(ir::Node& node, const UnaryParams& unary) {
  if (!kernels::is_activation(unary.kind)) return false;
  switch (node.op) {
    case OpKind::Conv2d:
      return set_activation<Conv2dParams>(node, unary);
    case OpKind::DepthwiseConv2d:
      return set_activation<DepthwiseConv2dParams>(node, unary);
    case OpKind::MatMul:
      return set_activation<MatMulParams>(node, unary);
    case OpKind::Binary:
      return set_activation<BinaryParams>(node, unary);
    case OpKind::Normalize:
      return set_activation<NormalizeParams>(node, unary);
    default:
      return false;
  }
}

}  // namespace

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
    if (!take_activation(fused, graph.node(id).params.as<UnaryParams>())) continue;
    if (readers.sole_producer(value, id) == ir::kNoId) continue;
    fused.output = graph.node(id).output;
    readers.replace(id, std::move(fused));
    dead[producer] = true;
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
