// A graph holds nodes and values in vectors, addressed by ids.
//
// Invariants (verify.cc): nodes stand in topological order; every value has exactly one producer
// (the graph's inputs, a constant, or one node); every node has one output; operands exist; types
// equal what the op's infer() says; kernels' operands have layouts assign_layouts gave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/types.h"
#include "compiler/support/shared_bytes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::ir {

struct Value {
  std::string name;  // the ONNX value's name where there is one; unique
  TensorType type;
  bool is_input = false;
  bool is_constant = false;
  compiler::SharedBytes bytes;  // elements of a constant, ONNX order, little endian
  NodeId producer = kNoId;      // kNoId for inputs and constants
  Precision precision = Precision::Fp32;
  // All elements lie on this grid, so that bytes may hold them: nothing is lost.
  Grid grid;
  // The elements of constant weights lie on a grid for each output channel, around zero.
  bool has_channel_grids = false;
  // Those of a product lie on grids of blocks, which it reads as floats.
  WeightBlocks blocks;

  Value() = default;
  Value(const Value&) = default;
  Value& operator=(const Value&) = default;
  // Moves are noexcept, although SmallVector's are not: otherwise a growing vector would copy every
  // weight.
  Value(Value&&) noexcept = default;
  Value& operator=(Value&&) noexcept = default;

  template <typename T>
  llvm::ArrayRef<T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

struct Node {
  OpKind op;
  OpParams params;
  llvm::SmallVector<ValueId, 4> inputs;  // no empty operands: has_<name> parameters say which exist
  ValueId output = kNoId;
  std::string name;  // ONNX node name, or the output's; for messages, dumps and reports
};

class Graph {
 public:
  std::string name;
  // Constants computed from others may still take this many bytes. The import starts with a bound
  // that depends on the model's weights, and leaves the rest.
  int64_t computed_bytes_left = int64_t{1} << 26;
  // The model's file has a float of its weights in so many bytes, on average: 2 if all are halves.
  double file_float_bytes = 4;

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Value>& values() const { return values_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  Node& node(NodeId id) { return nodes_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  Value& value(ValueId id) { return values_[id]; }
  llvm::ArrayRef<ValueId> inputs() const { return inputs_; }
  llvm::ArrayRef<ValueId> outputs() const { return outputs_; }
  // Returns the name of output `i` of the network. It is nearly always the value's; it differs
  // where the model gives an output the name of an input, or one name to two outputs.
  const std::string& output_name(size_t i) const { return output_names_[i]; }
  // Returns the counts for outputs that are planned with their largest dims. Each count is an I64
  // scalar, after every output of the model.
  llvm::ArrayRef<OutputExtent> extents() const { return extents_; }

  // Returns which outputs the session keeps as inputs of its next run, ordered by input.
  llvm::ArrayRef<KeptState> states() const { return states_; }

  ValueId add_input(std::string name, TensorType type);
  ValueId add_constant(std::string name, TensorType type, compiler::SharedBytes bytes);
  // Appends a node, whose operands must exist. Returns the output value.
  ValueId add_node(Node node, std::string output_name, TensorType output_type);
  // `names` has one name per output; if empty, the values' names are used.
  void set_outputs(llvm::SmallVector<ValueId, 4> outputs, std::vector<std::string> names = {});
  void set_extents(std::vector<OutputExtent> extents) { extents_ = std::move(extents); }
  void set_states(std::vector<KeptState> states) { states_ = std::move(states); }

  // Replaces the values of the outputs, which keep their names.
  void move_outputs(llvm::SmallVector<ValueId, 4> outputs);
  // Replaces `from` by `to` in the graph outputs.
  void replace_output(ValueId from, ValueId to);
  // Lets all values be held in `precision`.
  void set_precision(Precision precision);
  // Puts the nodes into this order, which has each id once.
  void reorder_nodes(llvm::ArrayRef<NodeId> order);
  // Removes the nodes marked in `dead` (size nodes().size()); node ids are renumbered.
  void remove_nodes(const std::vector<bool>& dead);
  // Removes values that nothing refers to; value ids are renumbered. Graph inputs stay.
  void remove_unused_values();
  bool is_output(ValueId value) const { return value < is_output_.size() && is_output_[value]; }

 private:
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  llvm::SmallVector<ValueId, 4> inputs_;
  llvm::SmallVector<ValueId, 4> outputs_;
  std::vector<std::string> output_names_;
  std::vector<bool> is_output_;  // indexed by value, as far as there are outputs
  std::vector<OutputExtent> extents_;
  std::vector<KeptState> states_;
};

// Shows one node with its types to the functions of OpSpec.
struct NodeView {
  const Graph& graph;
  const Node& node;

  template <typename Params>
  Params params() const {
    return node.params.as<Params>();
  }
  uint32_t input_count() const { return static_cast<uint32_t>(node.inputs.size()); }
  const Value& input_value(uint32_t i) const { return graph.value(node.inputs[i]); }
  const TensorType& input(uint32_t i) const { return input_value(i).type; }
  const TensorType& output() const { return graph.value(node.output).type; }
};

// Prints one line per node, in order, without addresses, floats as %.9g:
//   %7 conv1 = Conv2d(%x, %w1, %b1) {stride_h=2, stride_w=2} : f32[1,32,112,112] nhwc
std::string print(const Graph& graph);

// Checks the invariants above. The Internal error names the pass in `where`.
llvm::Error verify(const Graph& graph, llvm::StringRef where);

}  // namespace codl::ir
