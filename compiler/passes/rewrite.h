// Helps passes that merge two nodes of a graph: it counts the readers of a value and makes names
// for new ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace codl::compiler {

// How many nodes read each value of a graph, and which one if it is one. A pass that changes a
// node's operands does so through replace(); a node that it marks as dead goes on reading.
class Readers {
 public:
  explicit Readers(ir::Graph& graph);

  // A graph output counts as no reader.
  size_t count(ir::ValueId value) const {
    return value < readers_.size() ? readers_[value].count : 0;
  }
  // The node that computes `value`, if `user` is all that reads it; else kNoId. Such a producer may
  // be merged into its user: nobody sees the value between them.
  ir::NodeId sole_producer(ir::ValueId value, ir::NodeId user) const;
  // True if none but `nodes` read what they compute, `root`'s result aside. Each is named once.
  bool only_among(llvm::ArrayRef<ir::NodeId> nodes, ir::NodeId root) const;
  // Puts `node` in the place of node `id`; its operands may be values added since.
  void replace(ir::NodeId id, ir::Node node);
  // The node reads no more: it is dead, and what only it read may go.
  void remove(ir::NodeId id);

 private:
  struct OfValue {
    uint32_t count = 0;
    // Sum of the readers' ids modulo 2^32: the id of the only one if there is one.
    ir::NodeId sum = 0;
  };
  void add(ir::NodeId id);

  ir::Graph& graph_;
  std::vector<OfValue> readers_;  // indexed by value
};

// Names that no value of the graph has, or had since this was made.
class NewNames {
 public:
  explicit NewNames(const ir::Graph& graph);
  // `base`, or `base.1`, `base.2` ... : the first that is free. It is no longer.
  std::string take(const std::string& base);

 private:
  llvm::StringSet<> names_;
  llvm::StringMap<int> next_suffix_;  // keyed by base
};

// The one number that a constant of f32 consists of; none for another value.
std::optional<double> number_of(const ir::Graph& graph, ir::ValueId id);

// Whether the node is a Binary of that kind, of f32 and without an activation.
bool is_binary(const ir::Graph& graph, const ir::Node& node, int32_t kind);

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
void remove_dead(ir::Graph& graph, const std::vector<bool>& dead);

}  // namespace codl::compiler
