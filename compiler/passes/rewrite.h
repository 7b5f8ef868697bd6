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

// Knows how many nodes read each value of a graph, and which one if it is a single one. A pass that
// changes a node's operands must call replace(). A node that a pass marks as dead still counts as a
// reader until remove().
class Readers {
 public:
  explicit Readers(ir::Graph& graph);

  // A graph output counts as no reader.
  size_t count(ir::ValueId value) const {
    return value < readers_.size() ? readers_[value].count : 0;
  }
  // Returns the node that computes `value` if only `user` reads it; else kNoId. Such a producer may
  // be merged into its user, because nobody else sees the value between them.
  ir::NodeId sole_producer(ir::ValueId value, ir::NodeId user) const;
  // Returns true if only `nodes` read the nodes' results, except `root`'s. Each node is named once.
  bool only_among(llvm::ArrayRef<ir::NodeId> nodes, ir::NodeId root) const;
  // Replaces node `id` by `node`, whose operands may be values added since.
  void replace(ir::NodeId id, ir::Node node);
  // The node is dead and reads nothing any more; whatever only it read may be removed.
  void remove(ir::NodeId id);

 private:
  struct OfValue {
    uint32_t count = 0;
    // Adds up the readers' ids modulo 2^32, which gives the id of the only one if there is one.
    ir::NodeId sum = 0;
  };
  void add(ir::NodeId id);

  ir::Graph& graph_;
  std::vector<OfValue> readers_;  // indexed by value
};

// Makes names that no value of the graph has, or had since this object was made.
class NewNames {
 public:
  explicit NewNames(const ir::Graph& graph);
  // Returns the first free one of `base`, `base.1`, `base.2` ..., and takes it.
  std::string take(const std::string& base);

 private:
  llvm::StringSet<> names_;
  llvm::StringMap<int> next_suffix_;  // keyed by base
};

// Returns the value of an f32 constant with a single number; none for other values.
std::optional<double> number_of(const ir::Graph& graph, ir::ValueId id);

// Returns true if the node is a Binary of that kind, in f32 and without an activation.
bool is_binary(const ir::Graph& graph, const ir::Node& node, int32_t kind);

// Permutes dims: output dim i is input dim order[i].
using DimOrder = llvm::SmallVector<int32_t, 8>;

// Returns the order of a Transpose.
DimOrder order_of(const ir::Graph& graph, const ir::Node& node);
// Returns a Transpose's params.
ir::OpParams transpose_params(const DimOrder& order);

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

// Returns which operands of the node its result's elements are copies of, as [first, last): it
// moves elements, and takes the largest at most. Returns an empty range for other nodes.
std::pair<size_t, size_t> moved_operands(const ir::Node& node);

// Sorts each node after those that it reads, and otherwise keeps the order.
void sort_nodes(ir::Graph& graph);

// Removes the marked nodes and the values that only they referred to.
void remove_dead(ir::Graph& graph, const std::vector<bool>& dead);

}  // namespace codl::compiler
