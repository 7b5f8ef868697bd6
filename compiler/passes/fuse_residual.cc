// Makes an Add after a convolution the convolution's residual operand.
//
// Needs:   an Add of two values with equal dims. One is computed by a Conv2d or DepthwiseConv2d
//          without activation or residual whose only user is the Add; the other is computed, too,
//          or a graph input. If both are such convolutions, the later one takes the other's output,
//          so that the earlier may run beside something else.
// Gives:   the convolution with has_residual = 1 in the Add's place, with the Add's activation. The
//          sum is computed as before, with one pass over memory less.
// Order:   after fold_batch_norm (which folds nothing into a node with a residual); before
//          fuse_activation, so that the activation after the Add becomes the convolution's.
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

bool is_open_convolution(const ir::Node& node) {
  if (node.op == OpKind::Conv2d) {
    const auto params = node.params.as<Conv2dParams>();
    return !params.has_residual && params.activation == kUnaryIdentity;
  }
  if (node.op == OpKind::DepthwiseConv2d) {
    const auto params = node.params.as<DepthwiseConv2dParams>();
    return !params.has_residual && params.activation == kUnaryIdentity;
  }
  return false;
}

// Returns the convolution that can take operand `i` of the Add, else kNoId.
ir::NodeId convolution_behind(const ir::Graph& graph, const Readers& readers, ir::NodeId add,
                              uint32_t i) {
  const ir::ValueId value = graph.node(add).inputs[i];
  const ir::NodeId producer = graph.value(value).producer;
  if (producer == ir::kNoId || !is_open_convolution(graph.node(producer))) return ir::kNoId;
  return readers.sole_producer(value, add);
}

}  // namespace

llvm::Error fuse_residual(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  Readers readers(graph);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    const ir::NodeView add{graph, graph.node(id)};
    if (add.node.op != OpKind::Binary || add.params<BinaryParams>().kind != kBinaryAdd) continue;
    if (add.node.inputs[0] == add.node.inputs[1] || add.input(0).dims != add.input(1).dims)
      continue;
    // A constant stays plain, but a residual has the convolution's layout.
    if (add.input_value(0).is_constant || add.input_value(1).is_constant) continue;

    const ir::NodeId left = convolution_behind(graph, readers, id, 0);
    const ir::NodeId right = convolution_behind(graph, readers, id, 1);
    if (left == ir::kNoId && right == ir::kNoId) continue;
    const bool takes_left = right == ir::kNoId || (left != ir::kNoId && left > right);
    const ir::NodeId convolution = takes_left ? left : right;
    const ir::ValueId residual = add.node.inputs[takes_left ? 1 : 0];

    // At the Add's place both operands exist, whichever came first.
    const auto add_params = add.params<BinaryParams>();
    ir::Node fused = graph.node(convolution);
    fused.output = add.node.output;
    fused.inputs.push_back(residual);
    edit_convolution(fused, [&](auto& params) {
      params.has_residual = 1;
      params.activation = add_params.activation;
      params.activation_alpha = add_params.activation_alpha;
      params.activation_beta = add_params.activation_beta;
    });
    readers.replace(id, std::move(fused));
    dead[convolution] = true;
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
