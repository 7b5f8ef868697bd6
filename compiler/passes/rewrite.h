// Questions that several passes ask about a graph before they merge two of its nodes.
#pragma once

#include "compiler/ir/graph.h"

namespace codl::compiler {

// The node that computes `value`, if `user` is all that reads it; else kNoId. Such a producer may
// be merged into its user: nobody sees the value between them.
inline ir::NodeId sole_producer(const ir::Graph& graph, ir::ValueId value, ir::NodeId user) {
  const ir::NodeId producer = graph.value(value).producer;
  if (producer == ir::kNoId || graph.is_output(value)) return ir::kNoId;
  const auto users = graph.users(value);
  return users.size() == 1 && users[0] == user ? producer : ir::kNoId;
}

// Calls edit(params), where `params` is the Conv2dParams or DepthwiseConv2dParams of a node, and
// stores the result. Returns false, without a call, for another operator.
template <typename Edit>
bool edit_convolution(ir::Node& node, Edit edit) {
  auto apply = [&](auto params) {
    edit(params);
    node.params = ir::OpParams::of(node.op, params);
  };
  if (node.op == OpKind::Conv2d)
    apply(node.params.as<Conv2dParams>());
  else if (node.op == OpKind::DepthwiseConv2d)
    apply(node.params.as<DepthwiseConv2dParams>());
  else
    return false;
  return true;
}

// Removes the marked nodes and the values that only they referred to.
inline void remove_dead(ir::Graph& graph, const std::vector<bool>& dead) {
  graph.remove_nodes(dead);
  graph.remove_unused_values();
}

}  // namespace codl::compiler
