// What an import rule works with: the graph under construction and what the ONNX names stand for.
//
// To import another ONNX operator: a rule in the import_<group>.cc it belongs to, and its rows in
// import_table.cc.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "compiler/frontend/onnx_model.h"
#include "compiler/ir/graph.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace codl::compiler {

// Reads an integer-valued or float constant. Borrowed from the importer; valid until it is gone.
struct ConstantView {
  DType dtype = DType::F32;
  llvm::ArrayRef<int64_t> dims;
  llvm::ArrayRef<uint8_t> bytes;

  template <typename T>
  llvm::ArrayRef<T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

class Importer {
 public:
  // Takes the model's data. Errors: Input (a name defined twice, an input with bad dims).
  static llvm::Expected<Importer> create(OnnxModel& model);

  ir::Graph& graph() { return graph_; }
  const ir::TensorType& type(ir::ValueId value) const { return graph_.value(value).type; }

  // ---- operands of a rule's node ----

  // Operand `i` as a value of the graph; constants are added to it on first use. Errors: Input (no
  // such operand), Unsupported (not f32).
  llvm::Expected<ir::ValueId> operand(const OnnxNode& node, size_t i);
  // Operand `i` if it is known now: an initializer, or computed from initializers only.
  // Unsupported if it depends on the graph's inputs, or has no usable data.
  llvm::Expected<ConstantView> constant(const OnnxNode& node, size_t i);
  // The same, with the dtype checked (Input error).
  llvm::Expected<llvm::ArrayRef<int64_t>> int_constant(const OnnxNode& node, size_t i);
  llvm::Expected<ConstantView> float_constant(const OnnxNode& node, size_t i);
  bool is_int_constant(const OnnxNode& node, size_t i) const;
  // Dims of operand `i`, constant or not. Input error if there is no such operand.
  llvm::Expected<llvm::SmallVector<int64_t, 4>> dims_of(const OnnxNode& node, size_t i) const;

  // ---- results of a rule's node ----

  // Appends a node made from ONNX node `origin`. With an empty `suffix` it takes the name of origin
  // and of its first output; else they get ".suffix" and a number if need be. Reshape: see
  // append_reshape(). Errors: those of the operator's infer().
  template <typename Params>
  llvm::Expected<ir::ValueId> append(const OnnxNode& origin, llvm::StringRef suffix, OpKind op,
                                     const Params& params,
                                     llvm::SmallVector<ir::ValueId, 4> inputs) {
    return append_node(origin, suffix, op, ir::OpParams::of(op, params), std::move(inputs));
  }
  llvm::Expected<ir::ValueId> append_reshape(const OnnxNode& origin, llvm::StringRef suffix,
                                             ir::ValueId input, llvm::ArrayRef<int64_t> dims);
  // A constant made by a rule, named after the first output.
  llvm::Expected<ir::ValueId> add_floats(const OnnxNode& origin, llvm::StringRef suffix,
                                         llvm::ArrayRef<int64_t> dims,
                                         llvm::ArrayRef<float> elements);

  // Says what the first output of `node` stands for. Each rule ends in one of these.
  void bind(const OnnxNode& node, ir::ValueId value);
  void bind_constant(const OnnxNode& node, OnnxTensor tensor);
  // The output is operand `i` itself.
  llvm::Error bind_operand(const OnnxNode& node, size_t i);

  // ---- for import_onnx() ----

  bool is_defined(llvm::StringRef name) const { return bindings_.count(name) != 0; }
  // The node was not imported; nothing that depends on it can be.
  void bind_unavailable(const OnnxNode& node);
  bool is_available(const OnnxNode& node) const;  // every operand is
  // Declares the graph's outputs, each a value of its own with the model's name. Errors: Input.
  llvm::Error finish(const OnnxModel& model);

 private:
  struct Constant {
    std::string name;
    OnnxTensor tensor;  // its bytes have moved into the graph once `value` is set
    ir::ValueId value = ir::kNoId;
  };
  // What a name stands for; nothing usable if both members are unset.
  struct Binding {
    ir::ValueId value = ir::kNoId;
    Constant* constant = nullptr;
  };

  llvm::Expected<ir::ValueId> append_node(const OnnxNode& origin, llvm::StringRef suffix, OpKind op,
                                          ir::OpParams params,
                                          llvm::SmallVector<ir::ValueId, 4> inputs);
  llvm::Expected<const Binding*> find(const OnnxNode& node, size_t i) const;
  llvm::Expected<ir::ValueId> value_of(llvm::StringRef where, const Binding& binding);
  ConstantView view_of(const Constant& constant) const;
  // The value as a constant, if no graph input leads to it, else null.
  llvm::Expected<Constant*> evaluate(ir::ValueId value);
  std::string output_name(const OnnxNode& origin, llvm::StringRef suffix);
  std::string fresh_name(std::string base);

  ir::Graph graph_;
  std::deque<Constant> constants_;  // addresses are kept in bindings_
  llvm::StringMap<Binding> bindings_;
  llvm::StringSet<> names_;  // of every ONNX value and everything added
};

// Imports one node. Unsupported errors are collected over all nodes; any other ends the import.
using ImportRule = llvm::Error (*)(const OnnxNode& node, Importer& importer);

struct ImportRow {
  llvm::StringRef op_type;
  int64_t oldest_opset;
  int64_t newest_opset;
  ImportRule rule;
};

// Every ONNX operator that codl imports, by name; one row per version of its meaning.
llvm::ArrayRef<ImportRow> import_table();

// ---- shared by rules ----

// `axis` counted from the front. Input error unless in [-rank, rank).
llvm::Expected<int32_t> normalized_axis(const OnnxNode& node, int64_t axis, size_t rank);

}  // namespace codl::compiler
