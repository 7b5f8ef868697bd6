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
                            compiler::SharedBytes bytes) {
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
  const ValueId output = static_cast<ValueId>(values_.size());
  Value value;
  value.name = std::move(output_name);
  value.type = std::move(output_type);
  value.producer = static_cast<NodeId>(nodes_.size());
  values_.push_back(std::move(value));
  node.output = output;
  nodes_.push_back(std::move(node));
  return output;
}

void Graph::set_outputs(llvm::SmallVector<ValueId, 4> outputs, std::vector<std::string> names) {
  if (names.empty())
    // verify() reports a value that does not exist.
    for (ValueId output : outputs)
      names.push_back(output < values_.size() ? values_[output].name : std::string());
  output_names_ = std::move(names);
  move_outputs(std::move(outputs));
}

void Graph::move_outputs(llvm::SmallVector<ValueId, 4> outputs) {
  assert(outputs.size() == output_names_.size());
  outputs_ = std::move(outputs);
  is_output_.clear();
  for (ValueId output : outputs_) {
    if (output >= is_output_.size()) is_output_.resize(output + size_t{1}, false);
    is_output_[output] = true;
  }
}

void Graph::replace_output(ValueId from, ValueId to) {
  llvm::SmallVector<ValueId, 4> outputs = outputs_;
  std::replace(outputs.begin(), outputs.end(), from, to);
  move_outputs(std::move(outputs));
}

void Graph::set_precision(Precision precision) {
  for (Value& value : values_) value.precision = precision;
}

void Graph::reorder_nodes(llvm::ArrayRef<NodeId> order) {
  assert(order.size() == nodes_.size());
  std::vector<Node> ordered;
  ordered.reserve(order.size());
  for (NodeId id : order) {
    values_[nodes_[id].output].producer = static_cast<NodeId>(ordered.size());
    ordered.push_back(std::move(nodes_[id]));
  }
  nodes_ = std::move(ordered);
}

void Graph::remove_nodes(const std::vector<bool>& dead) {
  assert(dead.size() == nodes_.size());
  size_t kept = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const ValueId output = nodes_[i].output;
    // Meanwhile a value may have got another producer, or become a constant.
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
  llvm::SmallVector<ValueId, 4> outputs = outputs_;
  for (ValueId& output : outputs) output = new_id[output];
  move_outputs(std::move(outputs));
}

}  // namespace codl::ir
