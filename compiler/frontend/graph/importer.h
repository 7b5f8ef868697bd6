// Importer holds the graph under construction, and knows what each ONNX name stands for. Import
// rules work with it.
//
// To import another ONNX operator, add a rule to the rules/<group>.cc it belongs to, and an entry
// there.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/onnx_model.h"
#include "compiler/interp/interpreter.h"
#include "compiler/ir/graph.h"
#include "compiler/support/large_bytes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace codl::compiler {

// Gives the elements of a constant of integers or floats. It is borrowed from the importer and
// valid until that is gone.
struct ConstantView {
  DType dtype = DType::F32;
  llvm::ArrayRef<int64_t> dims;
  SharedBytes bytes;

  template <typename T>
  llvm::ArrayRef<T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

class Importer {
 public:
  // Takes the graph's data. Returns an Input error for a name defined twice, or an input without
  // type or dims.
  static llvm::Expected<Importer> create(OnnxGraph& graph);

  // Limits the nodes in the graph. No network has more; a model that asks for more is an attack or
  // an accident.
  static constexpr size_t kMaxNodes = size_t{1} << 14;
  // Limits the constants that rules make or compute, besides one copy of each weight as floats.
  static constexpr int64_t kMaxConstantBytes = int64_t{1} << 28;

  bool rounds_to_halves = true;  // ImportOptions::rounds_to_halves

  ir::Graph& graph() { return graph_; }
  const ir::TensorType& type(ir::ValueId value) const { return graph_.value(value).type; }

  // ---- operands of a rule's node ----
  // F16 and BF16 are F32 here: a graph input is cast where it enters, an output where it leaves,
  // and initializers are converted when they are read. Doubles stay doubles for rules that compute
  // in doubles (ImportEntry), as long as all floats among the node's operands are doubles. Any
  // other rule gets them as F32, and its results stay F32.

  // Returns operand `i` as a value of the graph; a constant is added to the graph on first use.
  // Errors: Input (no such operand), Unsupported (no usable data; a value whose extent is known
  // only at run time, see extent()).
  llvm::Expected<ir::ValueId> operand(const OnnxNode& node, size_t i);
  // Returns operand `i` if it is known now: an initializer, or computed from initializers only.
  // Returns an Unsupported error if it depends on the graph's inputs, or has no usable data.
  llvm::Expected<ConstantView> constant(const OnnxNode& node, size_t i);
  // Returns true if constant() would succeed.
  bool is_constant(const OnnxNode& node, size_t i);
  // Returns " (--input-value=sr:VALUE fixes it)" if a few elements of graph inputs decide these
  // operands, so that they are settings, not data. Else returns nothing.
  std::string how_to_fix(const OnnxNode& node, llvm::ArrayRef<size_t> operands) const;
  // Returns the elements of a constant of any integer type or bool, widened. Returns an Input error
  // for floats, an Unsupported error for integers that expect_integer() refuses.
  llvm::Expected<llvm::SmallVector<int64_t, 8>> int_constant(const OnnxNode& node, size_t i,
                                                             IntegerUse use = IntegerUse::Setting);
  // Returns the elements of a constant of any type as float.
  llvm::Expected<LargeVector<float>> float_constant(const OnnxNode& node, size_t i);
  // Return dims and dtype of operand `i`, constant or not; a dim may be 0 in a constant. Returns an
  // Input error if there is no such operand, dims_of() an Unsupported error if an extent is known
  // only at run time.
  llvm::Expected<llvm::SmallVector<int64_t, 4>> dims_of(const OnnxNode& node, size_t i) const;
  llvm::Expected<DType> dtype_of(const OnnxNode& node, size_t i) const;
  // Returns the bits of a constant's integers where the model has fewer than their dtype; else 0.
  int bits_of(const OnnxNode& node, size_t i) const;
  // Returns true if operand `i` is a tensor with a dim of 0.
  bool is_without_elements(const OnnxNode& node, size_t i) const;
  bool reads_no_elements(const OnnxNode& node) const;  // true if this holds for an operand
  // Returns the dims that the model declares for output `i` of the node (in graph outputs and
  // value_info, and what follows from them, see relate_dims()), if it declares them and every one
  // is a number. Operators whose output dims depend on data use them, because nothing else is
  // known.
  std::optional<llvm::SmallVector<int64_t, 4>> declared_dims(const OnnxNode& node, size_t i) const;
  // Returns true if the rule of the node got an answer from declared_dims().
  bool believes_declared_dims(const OnnxNode& node) const;

  // ---- results of a rule's node ----

  // Appends a node made from ONNX node `origin`. With an empty `suffix` it takes the names of
  // origin and of its first output; else they get ".suffix", and a number if need be. Use
  // append_shaped() for operators whose dims are the output's (Reshape, Expand, Resize,
  // DepthToSpace). Returns the errors of the operator's infer().
  template <typename Params>
  llvm::Expected<ir::ValueId> append(const OnnxNode& origin, llvm::StringRef suffix, OpKind op,
                                     const Params& params,
                                     llvm::SmallVector<ir::ValueId, 4> inputs) {
    return append_node(origin, suffix, op, ir::OpParams::of(op, params), std::move(inputs));
  }
  llvm::Expected<ir::ValueId> append_node(const OnnxNode& origin, llvm::StringRef suffix, OpKind op,
                                          ir::OpParams params,
                                          llvm::SmallVector<ir::ValueId, 4> inputs);
  // The output has the dtype of inputs[0].
  llvm::Expected<ir::ValueId> append_shaped(const OnnxNode& origin, llvm::StringRef suffix,
                                            OpKind op, ir::OpParams params,
                                            llvm::SmallVector<ir::ValueId, 4> inputs,
                                            llvm::ArrayRef<int64_t> dims);
  llvm::Expected<ir::ValueId> append_reshape(const OnnxNode& origin, llvm::StringRef suffix,
                                             ir::ValueId input, llvm::ArrayRef<int64_t> dims);
  // Adds a constant that a rule makes, named after the first output. Returns an Unsupported error
  // if rules have made far more than the model's weights.
  llvm::Expected<ir::ValueId> add_constant(const OnnxNode& origin, llvm::StringRef suffix,
                                           DType dtype, llvm::ArrayRef<int64_t> dims,
                                           SharedBytes bytes);
  // Returns a constant with dims of 1 in front until it has `rank` dims. All callers share one.
  llvm::Expected<ir::ValueId> constant_of_rank(const OnnxNode& origin, llvm::StringRef suffix,
                                               ir::ValueId constant, int32_t rank);
  llvm::Expected<ir::ValueId> add_floats(const OnnxNode& origin, llvm::StringRef suffix,
                                         llvm::ArrayRef<int64_t> dims,
                                         llvm::ArrayRef<float> elements);

  // Binds output `output` of `node` to a value. Each rule does so for every output that is read.
  void bind(const OnnxNode& node, ir::ValueId value, size_t output = 0);
  void bind_constant(const OnnxNode& node, OnnxTensor tensor, size_t output = 0);
  // Binds the output to operand `i` itself.
  llvm::Error bind_operand(const OnnxNode& node, size_t i, size_t output = 0);

  // ---- extents known at run time only ----
  // A value of NonZero, NonMaxSuppression, Compress ... is planned with its largest dims, but only
  // the first `count` elements (an I64 scalar of the graph) of dim `dim` are valid. Such a value
  // can be a graph output. Rules that pass it on take it with extent_operand() and call
  // bind_extent(); all others get an Unsupported error from operand().
  struct Extent {
    int32_t dim = 0;
    ir::ValueId count = ir::kNoId;
  };
  // Call it after bind() of the output. Where value and count are known now, the output becomes a
  // constant of the valid elements.
  void bind_extent(const OnnxNode& node, size_t output, Extent extent);
  llvm::ArrayRef<Extent> extents_of(const OnnxNode& node, size_t i) const;
  // Returns operand `i`, whatever its extents.
  llvm::Expected<ir::ValueId> extent_operand(const OnnxNode& node, size_t i);

  // ---- sequences and optionals ----
  // Both exist only in the importer. A sequence is a list of names of tensors. An optional with an
  // element is the element; one without is absent. Functions that return an operand as a tensor
  // give an Input error for either.
  struct Sequence {
    DType dtype = DType::F32;  // the stored elements' type
    std::vector<std::string> elements;
  };
  // Limits the elements in all bound sequences. No network has more (a loop that makes a list of
  // kMaxTrips elements one by one binds 2^19), and a hostile file that makes a list per node stays
  // small.
  static constexpr int64_t kMaxSequenceElements = int64_t{1} << 22;

  bool is_sequence(llvm::StringRef name) const;
  bool is_absent(llvm::StringRef name) const;
  // Returns the sequence that is operand `i`. It is borrowed from the importer and valid until that
  // is gone. Returns an Input error if the operand is no sequence.
  llvm::Expected<const Sequence*> sequence(const OnnxNode& node, size_t i) const;
  // Returns an Unsupported error for more than kMaxSequenceElements.
  llvm::Error bind_sequence(const OnnxNode& node, Sequence sequence, size_t output = 0);
  void bind_absent(const OnnxNode& node, size_t output = 0);
  // Returns an unused name, made from the node's first output, for a node that a rule writes.
  std::string define_name(const OnnxNode& node, llvm::StringRef suffix);

  // ---- bodies of If and Loop ----

  // Imports a body of the node in place, with the values of these names as its inputs. Returns the
  // names of its outputs; an output that is not usable has been reported. Errors: Input.
  llvm::Expected<std::vector<std::string>> import_body(const OnnxNode& node, const OnnxGraph& body,
                                                       llvm::ArrayRef<std::string> inputs);
  // Binds output `output` to whatever `name` stands for.
  void bind_name(const OnnxNode& node, size_t output, llvm::StringRef name);
  // Adds a constant for a body's input. Returns its name, made from the node's first output.
  std::string define_constant(const OnnxNode& node, llvm::StringRef suffix, OnnxTensor tensor);
  // Does the same for a value of the graph.
  std::string define_value(const OnnxNode& node, llvm::StringRef suffix, ir::ValueId value);

  // ---- for import_onnx() ----

  using BodyImport = std::function<llvm::Expected<std::vector<std::string>>(
      const OnnxNode&, const OnnxGraph&, llvm::ArrayRef<std::string>)>;
  // Call it before the rule of `node`: decides whether the rule sees doubles. Returns the value to
  // hand to leave_rule() after the rule.
  bool enter_rule(const OnnxNode& node, bool computes_in_doubles);
  void leave_rule(bool outer) { sees_doubles_ = outer; }
  void set_body_import(BodyImport body_import) { body_import_ = std::move(body_import); }
  // Takes the initializers of a graph, and its declarations of values. Returns an Input error for a
  // name defined twice.
  llvm::Error declare(OnnxGraph& graph);
  // Models declare the dims of their outputs, seldom those in between. A declaration of the result
  // of elementwise functions of one value and scalars holds for that value, too. Nodes must be in
  // order.
  void relate_dims(llvm::ArrayRef<const OnnxNode*> nodes);

  bool is_defined(llvm::StringRef name) const { return bindings_.count(name) != 0; }
  bool is_taken(llvm::StringRef name) const { return names_.contains(name); }
  bool is_usable(llvm::StringRef name) const;  // it is bound to a value or a constant
  // Returns an Unsupported error if the graph has kMaxNodes.
  llvm::Error expect_room(llvm::StringRef where) const;
  // Marks the outputs of a node that was not imported, so that nothing that depends on them is.
  void bind_unavailable(const OnnxNode& node);
  bool is_available(const OnnxNode& node) const;  // true if every operand is
  // Must be called after each rule. Frees large constants that the rule computed and the graph did
  // not take. If a rule asks again, they are computed again.
  void forget_large_constants();
  // Declares the graph's outputs; each becomes a value of its own with the model's name. Errors:
  // Input.
  llvm::Error finish(const OnnxGraph& graph);
  // Notes for the user, one line each.
  llvm::ArrayRef<std::string> notes() const { return notes_; }

 private:
  // Returns the value nearest to the graph's inputs that surely has the same dims; kScalarDims for
  // a scalar.
  std::string dims_root(llvm::StringRef name) const;
  std::string broadcast_root(const OnnxNode& node) const;

  struct Constant {
    std::string name;
    OnnxTensor tensor;  // its bytes have moved into the graph once `value` is set
    ir::ValueId value = ir::kNoId;
  };
  // Says what a name means.
  struct Binding {
    ir::ValueId value = ir::kNoId;
    Constant* constant = nullptr;
    llvm::SmallVector<Extent, 1> extents;  // extents of `value`
    const Sequence* sequence = nullptr;
    bool is_absent = false;  // true for an optional without an element

    bool is_usable() const {
      return constant != nullptr || value != ir::kNoId || sequence != nullptr || is_absent;
    }
  };

  llvm::Error define(llvm::StringRef where, llvm::StringRef name);
  llvm::Error add_input(const OnnxValueInfo& input);
  // Adds an input without elements. Its value is known: it stays in the network's interface, and is
  // a constant.
  llvm::Error add_empty_input(const OnnxValueInfo& input);
  llvm::Error expect_known_extent(const OnnxNode& node, size_t i, const Binding& binding) const;
  llvm::Expected<const Binding*> find(const OnnxNode& node, size_t i) const;
  // Does the same; returns an Input error unless it is a tensor.
  llvm::Expected<const Binding*> find_tensor(const OnnxNode& node, size_t i) const;
  llvm::Expected<ir::ValueId> value_of(llvm::StringRef where, const Binding& binding);
  // Returns the constant itself, or as F32 if it has doubles that the rule does not see.
  Constant* seen(Constant* constant);
  DType seen(DType dtype) const { return sees_doubles_ ? dtype : held_dtype(dtype); }
  ConstantView view_of(const Constant& constant) const;
  // Stores a constant outside the graph. Its address stays.
  Constant* keep(std::string name, OnnxTensor tensor);
  // Returns true if a graph input leads to the value.
  bool varies(ir::ValueId value);
  // Returns the value as a constant; null if a graph input leads to it, or if computing it costs
  // too much.
  llvm::Expected<Constant*> evaluate(ir::ValueId value);
  // Returns the nodes to run, in order, so that the value is known.
  std::vector<ir::NodeId> nodes_to_evaluate(ir::ValueId value) const;
  // Returns large operands that are freed after node `at` of `nodes` because only these nodes read
  // them.
  std::vector<ir::ValueId> last_read_by(llvm::ArrayRef<ir::NodeId> nodes, size_t at) const;
  llvm::Error evaluate_node_of(ir::ValueId value);
  int64_t evaluated_bytes(ir::ValueId value) const;
  // If value and count are known, binds a constant of the valid elements.
  llvm::Error resolve_extents(Binding& binding, llvm::StringRef name);
  llvm::Expected<ir::ValueId> output_value(const OnnxValueInfo& output, Binding& binding);
  // Notes once where the model declares other dims than the importer computes. Exporters write such
  // declarations (dims of an example, a rank that a tool lost); runtimes use the computed ones.
  void note_declared_dims(const OnnxGraph& graph);
  // Makes an output without elements: at least one element is planned, and an extent of 0 says that
  // none is valid.
  llvm::Error plan_elements(llvm::StringRef where, Binding& binding);
  // Holds names and values that graph outputs may no longer take.
  struct GivenNames {
    llvm::DenseSet<ir::ValueId> values;  // values that are graph outputs
    // Holds values by a name that they have or had.
    llvm::StringMap<llvm::SmallVector<ir::ValueId, 1>> by_name;
  };
  // Returns the value as a graph output of this dtype: itself, a Cast or a copy. It gets the name
  // unless another input or output has it.
  llvm::Expected<ir::ValueId> own_value(const std::string& name, ir::ValueId value, DType dtype,
                                        const GivenNames& given);
  std::string output_name(const OnnxNode& origin, llvm::StringRef suffix);
  std::string fresh_name(std::string base);

  ir::Graph graph_;
  std::vector<std::string> notes_;
  std::deque<Constant> constants_;  // addresses are kept in bindings_
  std::deque<Sequence> sequences_;  // likewise
  int64_t sequence_elements_left_ = kMaxSequenceElements;
  llvm::StringMap<Binding> bindings_;
  llvm::StringMap<llvm::SmallVector<int64_t, 4>> declared_dims_;
  mutable std::string believed_;  // the output that declared_dims() last answered for
  llvm::StringMap<std::string> dims_roots_;
  llvm::StringSet<> names_;           // all ONNX values and everything added
  llvm::StringSet<> appended_;        // ONNX names that a value of the graph has
  llvm::StringMap<int> next_suffix_;  // keyed by the base of fresh_name()
  std::vector<bool> varies_;          // indexed by value, as far as it was asked for
  llvm::DenseMap<ir::ValueId, Constant*> evaluated_;
  std::vector<ir::ValueId> large_evaluated_;  // for the rule that runs
  llvm::DenseSet<ir::ValueId> too_costly_;    // given up by evaluate(), with their dependents
  llvm::DenseMap<std::pair<ir::ValueId, int32_t>, ir::ValueId> constants_of_rank_;
  bool sees_doubles_ = true;                                  // for the rule that runs
  llvm::DenseMap<ir::ValueId, ir::ValueId> narrowed_values_;  // doubles converted to F32
  llvm::DenseMap<const Constant*, Constant*> narrowed_constants_;
  BodyImport body_import_;
  DistinctBytes weights_;
  EvaluationBudget budget_{kMaxConstantBytes};
};

// Imports one node. Unsupported errors are collected over all nodes; any other ends the import.
using ImportRule = llvm::Error (*)(const OnnxNode& node, Importer& importer);

struct ImportEntry {
  llvm::StringRef op_type;
  int64_t oldest_opset;
  int64_t newest_opset;
  ImportRule rule;
  llvm::StringRef domain = {};  // empty: ONNX's own
  bool computes_in_doubles = false;

  std::string name() const { return qualified_name(domain, op_type); }
};

// Returns all ONNX operators that codl imports, by name, with one entry per version of their
// meaning.
llvm::ArrayRef<ImportEntry> import_table();

// ---- shared by rules ----

// Returns `axis` counted from the front. Returns an Input error unless it is in [-rank, rank).
llvm::Expected<int32_t> normalized_axis(const OnnxNode& node, int64_t axis, size_t rank);

}  // namespace codl::compiler
