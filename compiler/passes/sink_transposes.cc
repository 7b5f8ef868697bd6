// Moves a Transpose after the elementwise nodes that read it, up to one that undoes it.
//
// Needs:   a plain graph. A Transpose whose only reader is a Unary, or a Binary whose other operand
//          has one element, or elements along one dim only (a map's channels), or comes from
//          a Transpose by the same order; and so on, up to a value that a Transpose reads.
// Gives:   the elementwise nodes on the Transpose's operand, then the Transpose; two
//          Transposes that meet are one; a Transpose that moves dims of 1 only is a Reshape.
//          Numerics are unchanged. If no Transpose is reached, nothing moves.
// DimOrder:   after fuse_unary_patterns, which look at a formula's nodes as they were written;
// before
//          eliminate_dead, which removes Transposes that now keep the order; before the fusions:
//          networks written for other layouts have a convolution's activation between two
//          Transposes.
#include <algorithm>
#include <cassert>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

bool keeps_order(const DimOrder& order) { return llvm::is_sorted(order); }

// Returns the dims of a Transpose's operand, given its result's.
ir::Dims before(const DimOrder& order, const ir::Dims& dims) {
  ir::Dims result(dims.size());
  for (size_t i = 0; i < order.size(); ++i) result[order[i]] = dims[i];
  return result;
}

// Returns `dims` with 1s in front.
ir::Dims of_rank(const ir::Dims& dims, size_t rank) {
  ir::Dims result(rank - dims.size(), 1);
  result.append(dims.begin(), dims.end());
  return result;
}

class TransposeSinking {
 public:
  explicit TransposeSinking(ir::Graph& graph) : graph_(graph), names_(graph) {
    users_.resize(graph.values().size());
    for (ir::NodeId id = 0; id < graph.nodes().size(); ++id)
      for (ir::ValueId input : graph.node(id).inputs) users_[input].push_back(id);
  }

  void run() {
    // Nodes that are added stand after these, and need no visit.
    const auto node_count = static_cast<ir::NodeId>(graph_.nodes().size());
    for (ir::NodeId id = 0; id < node_count; ++id) {
      if (graph_.node(id).op != OpKind::Transpose || !meets_transpose(id)) continue;
      ir::NodeId at = id;
      for (bool joins = false; !joins && !is_read_by_transpose(graph_.node(at).output);)
        at = sink(at, &joins);
      // It may move on from there when its turn comes.
      join(at);
    }
    for (ir::NodeId id = 0; id < node_count; ++id) become_reshape(id);
    sort_nodes(graph_);
  }

 private:
  bool reads(ir::NodeId user, ir::ValueId value) const {
    return llvm::is_contained(graph_.node(user).inputs, value);
  }

  // Returns the only node that reads `value`; kNoId if there are several or none, or the value is
  // an output.
  ir::NodeId sole_user(ir::ValueId value) const {
    ir::NodeId found = ir::kNoId;
    if (graph_.is_output(value)) return found;
    for (ir::NodeId user : users_[value]) {
      if (user == found || !reads(user, value)) continue;
      if (found != ir::kNoId) return ir::kNoId;
      found = user;
    }
    return found;
  }

  bool is_read_by_transpose(ir::ValueId value) const {
    return llvm::any_of(users_[value], [&](ir::NodeId user) {
      return graph_.node(user).op == OpKind::Transpose && reads(user, value);
    });
  }

  // Returns the node that computes `value` if it may be removed with its only user; kNoId
  // otherwise.
  ir::NodeId sole_transpose(ir::ValueId value) const {
    const ir::NodeId producer = graph_.value(value).producer;
    if (producer == ir::kNoId || graph_.node(producer).op != OpKind::Transpose) return ir::kNoId;
    return sole_user(value) == ir::kNoId ? ir::kNoId : producer;
  }

  // Returns true if `value`, an operand of an elementwise node, can be an operand before a
  // Transpose by `order`, too.
  bool is_movable(ir::ValueId value, const DimOrder& order) const {
    const ir::TensorType& type = graph_.value(value).type;
    if (type.element_count() == 1) return true;
    const ir::Dims dims = before(order, of_rank(type.dims, order.size()));
    if (llvm::count_if(dims, [](int32_t dim) { return dim != 1; }) != 1) return false;
    // In Nhwc, a vector along another dim than the channels is slow.
    return dims.size() != 4 || dims[1] != 1;
  }

  // Returns true if node `user` may swap places with a Transpose by `order` whose result `value` it
  // reads. Sets `joins` if it reads another Transpose, too, which goes away.
  bool is_passable(ir::NodeId user, ir::ValueId value, const DimOrder& order, bool* joins) const {
    const ir::Node& node = graph_.node(user);
    if (node.op == OpKind::Unary) return true;
    if (node.op != OpKind::Binary) return false;
    if (graph_.value(value).type.dims != graph_.value(node.output).type.dims) return false;
    const ir::ValueId other = node.inputs[node.inputs[0] == value ? 1 : 0];
    if (other == value || is_movable(other, order)) return true;
    const ir::NodeId producer = sole_transpose(other);
    *joins = producer != ir::kNoId && order_of(graph_, graph_.node(producer)) == order;
    return *joins;
  }

  // Returns true if sinking the Transpose ends at another one.
  bool meets_transpose(ir::NodeId id) const {
    const DimOrder order = order_of(graph_, graph_.node(id));
    ir::ValueId value = graph_.node(id).output;
    for (bool joins = false; !is_read_by_transpose(value) && !joins;) {
      const ir::NodeId user = sole_user(value);
      if (user == ir::kNoId || !is_passable(user, value, order, &joins)) return false;
      value = graph_.node(user).output;
    }
    return true;
  }

  // Swaps the Transpose `id` with its only user, which is_passable(): the user's function is now
  // computed where the Transpose was. Returns the new position of the Transpose.
  ir::NodeId sink(ir::NodeId id, bool* joins) {
    const ir::ValueId value = graph_.node(id).output;
    const ir::NodeId user = sole_user(value);
    const DimOrder order = order_of(graph_, graph_.node(id));
    [[maybe_unused]] const bool is_ok = is_passable(user, value, order, joins);
    assert(is_ok);
    ir::Node computes = graph_.node(user);
    ir::Node transposes = graph_.node(id);
    const ir::ValueId from = transposes.inputs[0];
    for (ir::ValueId& input : computes.inputs) {
      if (input == value)
        input = from;
      else if (*joins)
        input = graph_.node(graph_.value(input).producer).inputs[0];
      else
        input = moved(input, order);
    }
    computes.output = value;
    ir::TensorType type = graph_.value(graph_.node(user).output).type;
    type.dims = graph_.value(from).type.dims;
    graph_.value(value).type = std::move(type);
    transposes.inputs[0] = value;
    transposes.output = graph_.node(user).output;
    replace(id, std::move(computes));
    replace(user, std::move(transposes));
    return user;
  }

  // Returns `value` with the dims that it has before a Transpose by `order`.
  ir::ValueId moved(ir::ValueId value, const DimOrder& order) {
    ir::TensorType type = graph_.value(value).type;
    if (type.element_count() == 1) return value;
    type.dims = before(order, of_rank(type.dims, order.size()));
    if (type.dims == graph_.value(value).type.dims) return value;
    std::string name = names_.take(graph_.value(value).name + ".moved");
    ir::ValueId result;
    if (graph_.value(value).is_constant) {
      SharedBytes bytes = graph_.value(value).bytes;
      result = graph_.add_constant(std::move(name), std::move(type), std::move(bytes));
      users_.emplace_back();
    } else {
      ir::Node reshape;
      reshape.op = OpKind::Reshape;
      reshape.inputs = {value};
      reshape.name = name;
      result = graph_.add_node(std::move(reshape), std::move(name), std::move(type));
      users_.emplace_back();
    }
    return result;
  }

  // Transposes that read the result of Transpose `id` read its operand instead. If such a Transpose
  // gives just that operand, its readers read the operand.
  void join(ir::NodeId id) {
    const DimOrder order = order_of(graph_, graph_.node(id));
    const ir::ValueId from = graph_.node(id).inputs[0];
    const ir::ValueId value = graph_.node(id).output;
    const auto users = users_[value];
    for (ir::NodeId user : users) {
      ir::Node joined = graph_.node(user);
      if (joined.op != OpKind::Transpose || !reads(user, value)) continue;
      DimOrder both;
      for (int32_t dim : order_of(graph_, joined)) both.push_back(order[dim]);
      joined.params = transpose_params(both);
      joined.inputs[0] = from;
      const ir::ValueId output = joined.output;
      replace(user, std::move(joined));
      if (!keeps_order(both)) continue;
      const auto readers = users_[output];
      for (ir::NodeId reader : readers) {
        ir::Node node = graph_.node(reader);
        std::replace(node.inputs.begin(), node.inputs.end(), output, from);
        replace(reader, std::move(node));
      }
    }
  }

  void become_reshape(ir::NodeId id) {
    if (graph_.node(id).op != OpKind::Transpose) return;
    const DimOrder order = order_of(graph_, graph_.node(id));
    const ir::Dims& dims = graph_.value(graph_.node(id).inputs[0]).type.dims;
    int32_t last = -1;
    for (int32_t dim : order) {
      if (dims[dim] == 1) continue;
      if (dim < last) return;
      last = dim;
    }
    graph_.node(id).op = OpKind::Reshape;
    graph_.node(id).params = ir::OpParams();
  }

  void replace(ir::NodeId id, ir::Node node) {
    for (ir::ValueId input : node.inputs)
      if (!reads(id, input)) users_[input].push_back(id);
    graph_.value(node.output).producer = id;
    graph_.node(id) = std::move(node);
  }

  ir::Graph& graph_;
  NewNames names_;
  // Holds, by value, all nodes that read it, and some that did.
  std::vector<llvm::SmallVector<ir::NodeId, 2>> users_;
};

}  // namespace

llvm::Error sink_transposes(ir::Graph& graph) {
  TransposeSinking(graph).run();
  graph.remove_unused_values();
  return llvm::Error::success();
}

}  // namespace codl::compiler
