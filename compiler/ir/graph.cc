#include "compiler/ir/graph.h"

#include <algorithm>
#include <cassert>

namespace codl::ir {

ValueId Graph::add_input(std::string input_name, TensorType type) {
  const ValueId id = static_cast<ValueId>(values_.size());
  Value value;
  value.name = std::move(input_name);
  value.type = std::move(type);
  value.is_input = true;
  values_.push_back(std::move(value));
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string constant_name, TensorType type,
                            std::vector<uint8_t> bytes) {
  assert(bytes.size() == static_cast<uint64_t>(type.element_count()) * dtype_bytes(type.dtype));
  const ValueId id = static_cast<ValueId>(values_.size());
  Value value;
  value.name = std::move(constant_name);
  value.type = std::move(type);
  value.is_constant = true;
  value.bytes = std::move(bytes);
  values_.push_back(std::move(value));
  return id;
}

ValueId Graph::add_node(Node node, std::string output_name, TensorType output_type) {
  return insert_node(static_cast<NodeId>(nodes_.size()), std::move(node), std::move(output_name),
                     std::move(output_type));
}

ValueId Graph::insert_node(NodeId before, Node node, std::string output_name,
                           TensorType output_type) {
  assert(before <= nodes_.size());
  for (size_t i = before; i < nodes_.size(); ++i) ++values_[nodes_[i].output].producer;

  const ValueId output = static_cast<ValueId>(values_.size());
  Value value;
  value.name = std::move(output_name);
  value.type = std::move(output_type);
  value.producer = before;
  values_.push_back(std::move(value));
  node.output = output;
  nodes_.insert(nodes_.begin() + before, std::move(node));
  return output;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& node : nodes_) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::remove_nodes(const std::vector<bool>& dead) {
  assert(dead.size() == nodes_.size());
  size_t kept = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const ValueId output = nodes_[i].output;
    // A value may have got another producer, or become a constant, while its node was on the list.
    const bool is_producer = values_[output].producer == i;
    if (dead[i]) {
      if (is_producer) values_[output].producer = kNoId;
      continue;
    }
    assert(is_producer);
    values_[output].producer = static_cast<NodeId>(kept);
    if (kept != i) nodes_[kept] = std::move(nodes_[i]);
    ++kept;
  }
  nodes_.resize(kept);
}

void Graph::remove_unused_values() {
  std::vector<bool> used(values_.size(), false);
  for (const Node& node : nodes_) {
    used[node.output] = true;
    for (ValueId input : node.inputs) used[input] = true;
  }
  for (ValueId input : inputs_) used[input] = true;
  for (ValueId output : outputs_) used[output] = true;

  std::vector<ValueId> new_id(values_.size(), kNoId);
  size_t kept = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!used[i]) continue;
    new_id[i] = static_cast<ValueId>(kept);
    if (kept != i) values_[kept] = std::move(values_[i]);
    ++kept;
  }
  values_.resize(kept);

  for (Node& node : nodes_) {
    node.output = new_id[node.output];
    for (ValueId& input : node.inputs) input = new_id[input];
  }
  for (ValueId& input : inputs_) input = new_id[input];
  for (ValueId& output : outputs_) output = new_id[output];
}

llvm::SmallVector<NodeId, 4> Graph::users(ValueId value) const {
  llvm::SmallVector<NodeId, 4> result;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (llvm::is_contained(nodes_[i].inputs, value)) result.push_back(static_cast<NodeId>(i));
  return result;
}

bool Graph::is_output(ValueId value) const { return llvm::is_contained(outputs_, value); }

std::string Graph::unique_name(llvm::StringRef base) const {
  auto is_taken = [&](llvm::StringRef candidate) {
    return llvm::any_of(values_, [&](const Value& value) { return value.name == candidate; });
  };
  std::string candidate = base.str();
  for (int suffix = 1; is_taken(candidate); ++suffix)
    candidate = base.str() + "." + std::to_string(suffix);
  return candidate;
}

}  // namespace codl::ir
