#include "compiler/passes/rewrite.h"

#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

Readers::Readers(ir::Graph& graph) : graph_(graph), readers_(graph.values().size()) {
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) add(id);
}

void Readers::add(ir::NodeId id) {
  const llvm::ArrayRef<ir::ValueId> inputs = graph_.node(id).inputs;
  readers_.resize(graph_.values().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (llvm::is_contained(inputs.take_front(i), inputs[i])) continue;  // counts as one reader
    ++readers_[inputs[i]].count;
    readers_[inputs[i]].sum += id;
  }
}

void Readers::remove(ir::NodeId id) {
  const llvm::ArrayRef<ir::ValueId> inputs = graph_.node(id).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (llvm::is_contained(inputs.take_front(i), inputs[i])) continue;
    --readers_[inputs[i]].count;
    readers_[inputs[i]].sum -= id;
  }
}

void Readers::replace(ir::NodeId id, ir::Node node) {
  remove(id);
  graph_.node(id) = std::move(node);
  add(id);
}

ir::NodeId Readers::sole_producer(ir::ValueId value, ir::NodeId user) const {
  const ir::NodeId producer = graph_.value(value).producer;
  if (producer == ir::kNoId || graph_.is_output(value)) return ir::kNoId;
  return count(value) == 1 && readers_[value].sum == user ? producer : ir::kNoId;
}

bool Readers::only_among(llvm::ArrayRef<ir::NodeId> nodes, ir::NodeId root) const {
  return llvm::all_of(nodes, [&](ir::NodeId id) {
    if (id == root) return true;
    const ir::ValueId value = graph_.node(id).output;
    if (graph_.is_output(value)) return false;
    const auto reads = [&](ir::NodeId node) {
      return llvm::is_contained(graph_.node(node).inputs, value);
    };
    return static_cast<size_t>(llvm::count_if(nodes, reads)) == count(value);
  });
}

NewNames::NewNames(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values()) names_.insert(value.name);
}

std::string NewNames::take(const std::string& base) {
  std::string name = base;
  while (!names_.insert(name).second) name = base + "." + std::to_string(++next_suffix_[base]);
  return name;
}

std::optional<double> number_of(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  if (!value.is_constant || value.type.dtype != DType::F32 || value.type.element_count() != 1)
    return std::nullopt;
  return double{value.as<float>()[0]};
}

bool is_binary(const ir::Graph& graph, const ir::Node& node, int32_t kind) {
  if (node.op != OpKind::Binary || graph.value(node.output).type.dtype != DType::F32) return false;
  const auto params = node.params.as<BinaryParams>();
  return params.kind == kind && params.activation == kUnaryIdentity;
}

std::pair<size_t, size_t> moved_operands(const ir::Node& node) {
  switch (node.op) {
    case OpKind::Concat:
      return {0, node.inputs.size()};
    case OpKind::Convert:
    case OpKind::DepthToSpace:
    case OpKind::Expand:
    case OpKind::Gather:
    case OpKind::GatherElements:
    case OpKind::GatherNd:
    case OpKind::Reshape:
    case OpKind::Slice:
    case OpKind::Transpose:
      return {0, 1};
    case OpKind::Pad:
      return {0, node.inputs.size()};
    case OpKind::Pool2d:
      return {0, node.params.as<Pool2dParams>().kind == kPool2dMax ? 1 : 0};
    case OpKind::Resize: {
      const auto params = node.params.as<ResizeParams>();
      // Beyond the map it has a number of its own.
      return {0, params.kind == kResizeNearest && params.coordinates != kResizeTfCropAndResize};
    }
    case OpKind::Where:
      return {1, 3};
    default:
      return {0, 0};
  }
}

DimOrder order_of(const ir::Graph& graph, const ir::Node& node) {
  const auto params = node.params.as<TransposeParams>();
  const int32_t perm[kMaxRank] = {params.perm_0, params.perm_1, params.perm_2, params.perm_3,
                                  params.perm_4, params.perm_5, params.perm_6, params.perm_7};
  return DimOrder(perm, perm + graph.value(node.output).type.rank());
}

ir::OpParams transpose_params(const DimOrder& order) {
  TransposeParams params;
  int32_t* const perm[kMaxRank] = {&params.perm_0, &params.perm_1, &params.perm_2, &params.perm_3,
                                   &params.perm_4, &params.perm_5, &params.perm_6, &params.perm_7};
  for (size_t i = 0; i < order.size(); ++i) *perm[i] = order[i];
  return ir::OpParams::of(OpKind::Transpose, params);
}

void sort_nodes(ir::Graph& graph) {
  const size_t count = graph.nodes().size();
  std::vector<ir::NodeId> order;
  std::vector<bool> is_begun(count, false), is_placed(count, false);
  std::vector<ir::NodeId> stack;
  for (ir::NodeId first = 0; first < count; ++first) {
    stack.push_back(first);
    while (!stack.empty()) {
      const ir::NodeId id = stack.back();
      if (is_placed[id] || is_begun[id]) {
        stack.pop_back();
        if (!is_placed[id]) order.push_back(id);
        is_placed[id] = true;
        continue;
      }
      is_begun[id] = true;
      for (ir::ValueId input : graph.node(id).inputs) {
        const ir::NodeId producer = graph.value(input).producer;
        if (producer != ir::kNoId && !is_placed[producer]) stack.push_back(producer);
      }
    }
  }
  graph.reorder_nodes(order);
}

void remove_dead(ir::Graph& graph, const std::vector<bool>& dead) {
  graph.remove_nodes(dead);
  graph.remove_unused_values();
}

}  // namespace codl::compiler
