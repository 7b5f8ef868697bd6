#include "compiler/frontend/importer.h"

#include <algorithm>
#include <limits>

#include "compiler/interp/interpreter.h"
#include "compiler/ops/op_spec.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Of one value computed while importing: more than any weight of a network (VGG-16's first fully
// connected layer has 1.03e8).
constexpr int64_t kMaxEvaluatedElements = int64_t{1} << 27;
// What is computed and as small as settings are is kept: a later rule often asks again.
constexpr int64_t kSmallConstantBytes = int64_t{1} << 16;
// Planned for an output that has none: 64 MiB of f32, for what is never written.
constexpr int64_t kMaxPlannedElements = int64_t{1} << 24;

// ONNX operators whose output has the dims of their first operand, whatever else they read ...
constexpr llvm::StringRef kKeepsDims[] = {
    "Abs",   "Cast", "CastLike", "Ceil", "Clip",       "Cos",        "Erf",  "Exp",
    "Floor", "Gelu", "Identity", "Log",  "LogSoftmax", "Neg",        "Not",  "Relu",
    "Round", "Sign", "Sigmoid",  "Sin",  "Softmax",    "Reciprocal", "Sqrt", "Tanh",
};
// ... and those whose operands broadcast.
constexpr llvm::StringRef kBroadcasts[] = {
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min",
    "Mod", "Mul", "Or",  "Pow",   "Sub",     "Where",
};

// Stands for the dims of every scalar; no value has an empty name.
constexpr llvm::StringRef kScalarDims = "";

bool is_scalar_constant(const OnnxNode& node) {
  if (node.op_type != "Constant" || node.attributes.size() != 1) return false;
  const OnnxAttribute& value = node.attributes[0];
  using Type = OnnxAttribute::Type;
  return value.type == Type::Int || value.type == Type::Float ||
         (value.type == Type::Tensor && value.tensor.dims.empty());
}

std::string dims_text(llvm::ArrayRef<int64_t> dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : ",") + (dim == kUnknownDim ? "?" : std::to_string(dim));
  return "[" + text + "]";
}

// False if the model declares other dims than these; `is_fixed`: by dim, false where the value is
// planned with more than it may have.
bool agree(const OnnxValueInfo& declared, llvm::ArrayRef<int64_t> dims,
           llvm::ArrayRef<bool> is_fixed) {
  if (!declared.has_shape) return true;
  bool is_same = declared.dims.size() == dims.size();
  for (size_t i = 0; is_same && i < dims.size(); ++i)
    is_same = declared.dims[i] == kUnknownDim || declared.dims[i] == dims[i] || !is_fixed[i];
  return is_same;
}

// Of the initializers and of the tensors that nodes have as attributes.
void add_weights(const OnnxGraph& graph, DistinctBytes& weights) {
  const auto add = [&](const OnnxTensor& tensor) {
    weights.add(tensor.bytes, dtype_bytes(tensor.dtype));
  };
  for (const OnnxInitializer& initializer : graph.initializers) add(initializer.tensor);
  for (const OnnxNode& node : graph.nodes)
    for (const OnnxAttribute& attribute : node.attributes) add(attribute.tensor);
}

// The first `count` elements of dim `dim`.
OnnxTensor first_elements(const OnnxTensor& tensor, int32_t dim, int64_t count) {
  OnnxTensor result;
  result.dtype = tensor.dtype;
  result.dims = tensor.dims;
  result.dims[dim] = count;
  size_t inner = dtype_bytes(tensor.dtype);
  for (size_t i = dim + 1; i < tensor.dims.size(); ++i) inner *= tensor.dims[i];
  const size_t stride = inner * tensor.dims[dim];
  LargeBytes bytes;
  for (size_t at = 0; stride != 0 && at < tensor.bytes.size(); at += stride)
    bytes.insert(bytes.end(), tensor.bytes.begin() + at, tensor.bytes.begin() + at + inner * count);
  result.bytes = std::move(bytes);
  return result;
}

template <typename To, typename From>
void append_converted(llvm::ArrayRef<uint8_t> bytes, To& elements) {
  for (size_t at = 0; at + sizeof(From) <= bytes.size(); at += sizeof(From)) {
    From element;
    std::memcpy(&element, bytes.data() + at, sizeof element);
    elements.push_back(static_cast<typename To::value_type>(element));
  }
}

// Elements of a constant of any dtype the graph holds, each converted.
template <typename To>
To elements_of(const ConstantView& view) {
  To elements;
  elements.reserve(view.bytes.size() / dtype_bytes(view.dtype));
  switch (view.dtype) {
    case DType::I64:
      append_converted<To, int64_t>(view.bytes, elements);
      break;
    case DType::U64:
      append_converted<To, uint64_t>(view.bytes, elements);
      break;
    case DType::I32:
      append_converted<To, int32_t>(view.bytes, elements);
      break;
    case DType::U32:
      append_converted<To, uint32_t>(view.bytes, elements);
      break;
    case DType::I16:
      append_converted<To, int16_t>(view.bytes, elements);
      break;
    case DType::U16:
      append_converted<To, uint16_t>(view.bytes, elements);
      break;
    case DType::I8:
      append_converted<To, int8_t>(view.bytes, elements);
      break;
    case DType::U8:
    case DType::Bool:
      append_converted<To, uint8_t>(view.bytes, elements);
      break;
    default:
      append_converted<To, float>(view.bytes, elements);
      break;
  }
  return elements;
}

}  // namespace

llvm::Error Importer::add_input(const OnnxValueInfo& input) {
  const std::string where = "input '" + input.name + "'";
  Binding& binding = bindings_[input.name];
  if (!input.problem.empty()) return llvm::Error::success();
  if (!input.dtype || !input.has_shape)
    return input_error(where, "expected a type with a shape, found none");
  if (llvm::is_contained(input.dims, 0)) return add_empty_input(input);
  auto type = checked_type(where, *input.dtype, input.dims);
  if (!type) return type.takeError();
  binding.value = graph_.add_input(input.name, *type);
  const DType held = held_dtype(*input.dtype);
  if (held == *input.dtype) return llvm::Error::success();
  OnnxNode origin;
  origin.name = input.name;
  origin.outputs = {input.name};
  auto cast =
      append(origin, "f32", OpKind::Cast, CastParams{static_cast<int32_t>(held)}, {binding.value});
  if (!cast) return cast.takeError();
  binding.value = *cast;
  return llvm::Error::success();
}

llvm::Error Importer::add_empty_input(const OnnxValueInfo& input) {
  // Checked as if it had elements: its other dims are bounded too.
  llvm::SmallVector<int64_t, 4> dims = input.dims;
  std::replace(dims.begin(), dims.end(), int64_t{0}, int64_t{1});
  auto type = checked_type("input '" + input.name + "'", *input.dtype, dims);
  if (!type) return type.takeError();
  type->dims.assign(input.dims.begin(), input.dims.end());
  graph_.add_input(input.name, *type);
  OnnxTensor tensor;
  tensor.dtype = held_dtype(*input.dtype);
  tensor.dims = input.dims;
  bindings_[input.name].constant = keep(fresh_name(input.name + ".empty"), std::move(tensor));
  return llvm::Error::success();
}

llvm::Error Importer::define(llvm::StringRef where, llvm::StringRef name) {
  if (name.empty()) return input_error(where, "expected a name, found none");
  if (!names_.insert(name).second)
    return input_error(where, "expected each value to be defined once, found '{0}' again", name);
  return llvm::Error::success();
}

llvm::Error Importer::declare(OnnxGraph& graph) {
  // Each trip of a Loop computes with the weights of the body, and all share them.
  DistinctBytes of_graph;
  add_weights(graph, of_graph);
  budget_.add_time_for(of_graph.count());
  const int64_t known = weights_.as_floats();
  add_weights(graph, weights_);
  budget_.add_bytes(weights_.as_floats() - known);
  for (OnnxInitializer& initializer : graph.initializers) {
    if (llvm::Error error = define("initializers", initializer.name)) return error;
    bindings_[initializer.name].constant = keep(initializer.name, std::move(initializer.tensor));
  }
  for (const OnnxNode& node : graph.nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty())
        if (llvm::Error error = define(node.name, output)) return error;
  for (const auto* infos : {&graph.values, &graph.outputs})
    for (const OnnxValueInfo& info : *infos)
      if (info.has_shape && !llvm::is_contained(info.dims, kUnknownDim))
        declared_dims_[info.name] = info.dims;
  return llvm::Error::success();
}

std::string Importer::dims_root(llvm::StringRef name) const {
  const auto related = dims_roots_.find(name);
  if (related != dims_roots_.end()) return related->second;
  const auto bound = bindings_.find(name);
  if (bound == bindings_.end()) return name.str();
  const Binding& binding = bound->second;
  bool is_scalar = false;
  if (binding.constant != nullptr)
    is_scalar = binding.constant->tensor.dims.empty();
  else if (binding.value != ir::kNoId)
    is_scalar = type(binding.value).dims.empty();
  return is_scalar ? kScalarDims.str() : name.str();
}

// Of scalars and one value, or results of it, the dims are that value's.
std::string Importer::broadcast_root(const OnnxNode& node) const {
  std::string common = kScalarDims.str();
  for (const std::string& input : node.inputs) {
    std::string root = dims_root(input);
    if (root == kScalarDims || root == common) continue;
    if (common != kScalarDims) return node.outputs[0];
    common = std::move(root);
  }
  return common;
}

void Importer::relate_dims(llvm::ArrayRef<const OnnxNode*> nodes) {
  for (const OnnxNode* node : nodes) {
    if (!node->domain.empty() || node->outputs.empty() || node->outputs[0].empty()) continue;
    const std::string& output = node->outputs[0];
    if (is_scalar_constant(*node))
      dims_roots_[output] = kScalarDims.str();
    else if (node->has_input(0) && llvm::is_contained(kKeepsDims, node->op_type))
      dims_roots_[output] = dims_root(node->inputs[0]);
    else if (node->has_input(0) && llvm::is_contained(kBroadcasts, node->op_type))
      dims_roots_[output] = broadcast_root(*node);
  }
  for (const OnnxNode* node : nodes)
    for (const std::string& output : node->outputs) {
      const auto declared = declared_dims_.find(output);
      if (declared == declared_dims_.end()) continue;
      const llvm::SmallVector<int64_t, 4> dims = declared->second;
      declared_dims_.insert({dims_root(output), dims});
    }
}

llvm::Expected<Importer> Importer::create(OnnxGraph& graph) {
  Importer importer;
  importer.graph_.name = graph.name;
  for (const OnnxValueInfo& input : graph.inputs)
    if (llvm::Error error = importer.define("graph inputs", input.name)) return error;
  if (llvm::Error error = importer.declare(graph)) return error;
  for (const OnnxValueInfo& input : graph.inputs)
    if (llvm::Error error = importer.add_input(input)) return error;
  return importer;
}

llvm::Expected<const Importer::Binding*> Importer::find(const OnnxNode& node, size_t i) const {
  if (!node.has_input(i))
    return input_error(node.name, "expected input {0} of {1}, found {2} inputs", i, node.op_type,
                       node.inputs.size());
  return &bindings_.find(node.inputs[i])->second;
}

llvm::Expected<const Importer::Binding*> Importer::find_tensor(const OnnxNode& node,
                                                               size_t i) const {
  CODL_ASSIGN_OR_RETURN(binding, find(node, i));
  if (binding->sequence != nullptr)
    return input_error(node.name, "expected a tensor as input {0} ('{1}'), found a sequence", i,
                       node.inputs[i]);
  if (binding->is_absent)
    return input_error(node.name,
                       "expected a tensor as input {0} ('{1}'), found an optional without one", i,
                       node.inputs[i]);
  return binding;
}

llvm::Error Importer::expect_known_extent(const OnnxNode& node, size_t i,
                                          const Binding& binding) const {
  if (binding.extents.empty()) return llvm::Error::success();
  return unsupported_error(node.name,
                           "expected dims known before the network runs as input {0} ('{1}'), "
                           "found {2} with fewer elements in dim {3} at run time",
                           i, node.inputs[i], ir::to_string(type(binding.value)),
                           binding.extents[0].dim);
}

llvm::Expected<ir::ValueId> Importer::value_of(llvm::StringRef where, const Binding& binding) {
  if (binding.constant == nullptr) return binding.value;
  Constant& constant = *binding.constant;
  if (constant.value != ir::kNoId) return constant.value;
  OnnxTensor& tensor = constant.tensor;
  if (!tensor.problem.empty())
    return unsupported_error(where, "expected usable data in '{0}', found {1}", constant.name,
                             tensor.problem);
  if (tensor.element_count() == 0)
    return unsupported_error(where, "expected elements in '{0}', found dims {1}", constant.name,
                             dims_text(tensor.dims));
  CODL_ASSIGN_OR_RETURN(constant_type, checked_type(constant.name, tensor.dtype, tensor.dims));
  constant.value = graph_.add_constant(constant.name, constant_type, tensor.bytes);
  return constant.value;
}

llvm::Expected<ir::ValueId> Importer::operand(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(binding, find_tensor(node, i));
  if (llvm::Error error = expect_known_extent(node, i, *binding)) return error;
  return value_of(node.name, *binding);
}

llvm::Expected<ir::ValueId> Importer::extent_operand(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(binding, find_tensor(node, i));
  return value_of(node.name, *binding);
}

llvm::ArrayRef<Importer::Extent> Importer::extents_of(const OnnxNode& node, size_t i) const {
  if (!node.has_input(i)) return {};
  return bindings_.find(node.inputs[i])->second.extents;
}

ConstantView Importer::view_of(const Constant& constant) const {
  return {constant.tensor.dtype, constant.tensor.dims, constant.tensor.bytes};
}

Importer::Constant* Importer::keep(std::string name, OnnxTensor tensor) {
  constants_.push_back({std::move(name), std::move(tensor), ir::kNoId});
  return &constants_.back();
}

bool Importer::varies(ir::ValueId value) {
  // Operands come before what is made of them.
  for (ir::ValueId id = static_cast<ir::ValueId>(varies_.size()); id <= value; ++id) {
    const ir::Value& at = graph_.value(id);
    bool is_varying = at.is_input;
    if (at.producer != ir::kNoId)
      for (ir::ValueId input : graph_.node(at.producer).inputs)
        is_varying = is_varying || varies_[input];
    varies_.push_back(is_varying);
  }
  return varies_[value];
}

std::vector<ir::NodeId> Importer::nodes_to_evaluate(ir::ValueId value) const {
  std::vector<ir::NodeId> nodes;
  llvm::DenseMap<ir::ValueId, bool> is_listed;
  std::vector<ir::ValueId> open = {value};
  while (!open.empty()) {
    const ir::ValueId at = open.back();
    open.pop_back();
    const ir::NodeId producer = graph_.value(at).producer;
    if (producer == ir::kNoId || evaluated_.count(at) != 0) continue;
    // What is behind it has been looked at.
    if (too_costly_.contains(at)) continue;
    if (!is_listed.insert({at, true}).second) continue;
    nodes.push_back(producer);
    for (ir::ValueId input : graph_.node(producer).inputs) open.push_back(input);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

llvm::Error Importer::evaluate_node_of(ir::ValueId value) {
  const ir::Node& node = graph_.node(graph_.value(value).producer);
  llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> inputs;
  for (ir::ValueId input : node.inputs) {
    const ir::Value& input_value = graph_.value(input);
    inputs.push_back(input_value.is_constant ? llvm::ArrayRef<uint8_t>(input_value.bytes)
                                             : view_of(*evaluated_[input]).bytes);
  }
  auto bytes = evaluate_node(ir::NodeView{graph_, node}, inputs);
  if (!bytes) return bytes.takeError();
  OnnxTensor tensor;
  tensor.dtype = type(value).dtype;
  tensor.dims.assign(type(value).dims.begin(), type(value).dims.end());
  tensor.bytes = std::move(*bytes);
  // A constant beside the node; if nothing else reads that, eliminate_dead removes it.
  evaluated_[value] = keep(fresh_name(graph_.value(value).name + ".folded"), std::move(tensor));
  return llvm::Error::success();
}

int64_t Importer::evaluated_bytes(ir::ValueId value) const {
  return static_cast<int64_t>(evaluated_.find(value)->second->tensor.bytes.size());
}

std::vector<ir::ValueId> Importer::last_read_by(llvm::ArrayRef<ir::NodeId> nodes, size_t at) const {
  std::vector<ir::ValueId> last;
  for (ir::ValueId input : graph_.node(nodes[at]).inputs) {
    const ir::NodeId producer = graph_.value(input).producer;
    if (producer == ir::kNoId || !std::binary_search(nodes.begin(), nodes.end(), producer) ||
        evaluated_bytes(input) <= kSmallConstantBytes || llvm::is_contained(last, input))
      continue;
    const bool is_read_later = llvm::any_of(nodes.drop_front(at + 1), [&](ir::NodeId node) {
      return llvm::is_contained(graph_.node(node).inputs, input);
    });
    if (!is_read_later) last.push_back(input);
  }
  return last;
}

llvm::Expected<Importer::Constant*> Importer::evaluate(ir::ValueId value) {
  if (varies(value)) return nullptr;
  bool gives_up = false;
  const std::vector<ir::NodeId> nodes = nodes_to_evaluate(value);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ir::NodeView view{graph_, graph_.node(nodes[i])};
    const bool needs_too_much = llvm::any_of(
        view.node.inputs, [&](ir::ValueId input) { return too_costly_.contains(input); });
    if (gives_up && !needs_too_much) continue;
    std::vector<ir::ValueId> unneeded;
    int64_t freed = 0;
    if (!needs_too_much) unneeded = last_read_by(nodes, i);
    for (ir::ValueId input : unneeded) freed += evaluated_bytes(input);
    if (needs_too_much || view.output().element_count() > kMaxEvaluatedElements ||
        !budget_.take(view, freed)) {
      too_costly_.insert(view.node.output);
      gives_up = true;
      continue;
    }
    if (llvm::Error error = evaluate_node_of(view.node.output)) return error;
    for (ir::ValueId input : unneeded) {
      evaluated_[input]->tensor.bytes = {};
      evaluated_.erase(input);
    }
    if (evaluated_bytes(view.node.output) > kSmallConstantBytes)
      large_evaluated_.push_back(view.node.output);
  }
  if (too_costly_.contains(value)) return nullptr;
  const auto found = evaluated_.find(value);
  if (found != evaluated_.end()) return found->second;
  // A constant that a rule added.
  const ir::Value& constant = graph_.value(value);
  OnnxTensor tensor;
  tensor.dtype = constant.type.dtype;
  tensor.dims.assign(constant.type.dims.begin(), constant.type.dims.end());
  Constant* kept = keep(constant.name, std::move(tensor));
  kept->value = value;
  evaluated_[value] = kept;
  return kept;
}

void Importer::forget_large_constants() {
  // A sequence may have a binding of some.
  for (ir::ValueId value : sequences_.empty() ? large_evaluated_ : std::vector<ir::ValueId>()) {
    const auto found = evaluated_.find(value);
    if (found == evaluated_.end() || found->second->tensor.bytes.is_shared()) continue;
    Constant* constant = found->second;
    for (auto& bound : bindings_)
      if (bound.second.constant == constant) bound.second.constant = nullptr;
    budget_.add_bytes(static_cast<int64_t>(constant->tensor.bytes.size()));
    constant->tensor.bytes = {};
    evaluated_.erase(found);
  }
  large_evaluated_.clear();
}

llvm::Expected<ConstantView> Importer::constant(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(binding, find_tensor(node, i));
  if (llvm::Error error = expect_known_extent(node, i, *binding)) return error;
  Constant* found = binding->constant;
  if (found == nullptr) {
    CODL_ASSIGN_OR_RETURN(evaluated, evaluate(binding->value));
    found = evaluated;
    // Every later reader of the name sees the constant.
    bindings_[node.inputs[i]].constant = found;
  }
  if (found == nullptr)
    return unsupported_error(node.name,
                             "expected a constant as input {0} ('{1}'), found a computed value{2}",
                             i, node.inputs[i], how_to_fix(node, i));
  if (!found->tensor.problem.empty())
    return unsupported_error(node.name, "expected usable data in '{0}', found {1}", found->name,
                             found->tensor.problem);
  return view_of(*found);
}

std::string Importer::how_to_fix(const OnnxNode& node, llvm::ArrayRef<size_t> operands) const {
  // An input of more elements is data that no flag replaces.
  constexpr int64_t kMaxElements = 64;
  std::vector<ir::ValueId> open;
  for (size_t i : llvm::reverse(operands)) {
    const auto binding = node.has_input(i) ? bindings_.find(node.inputs[i]) : bindings_.end();
    if (binding != bindings_.end() && binding->second.value != ir::kNoId)
      open.push_back(binding->second.value);
  }
  std::string flags;
  llvm::DenseSet<ir::ValueId> seen;
  while (!open.empty()) {
    const ir::Value& value = graph_.value(open.back());
    const bool is_new = seen.insert(open.back()).second;
    open.pop_back();
    if (!is_new) continue;
    if (value.producer != ir::kNoId)
      for (ir::ValueId input : graph_.node(value.producer).inputs) open.push_back(input);
    if (!value.is_input) continue;
    if (value.type.element_count() > kMaxElements) return "";
    flags += (flags.empty() ? "" : " and ") + ("--input-value=" + value.name + ":VALUE");
    if (value.type.element_count() > 1) flags += ",...";
  }
  return flags.empty() ? "" : " (" + flags + " fixes it)";
}

bool Importer::is_constant(const OnnxNode& node, size_t i) {
  auto view = constant(node, i);
  if (view) return true;
  llvm::consumeError(view.takeError());
  return false;
}

llvm::Expected<llvm::SmallVector<int64_t, 8>> Importer::int_constant(const OnnxNode& node, size_t i,
                                                                     IntegerUse use) {
  CODL_ASSIGN_OR_RETURN(view, constant(node, i));
  if (view.dtype != DType::Bool && !is_integer(view.dtype))
    return input_error(node.name, "expected integers in '{0}', found {1}", node.inputs[i],
                       dtype_name(view.dtype));
  auto elements = elements_of<llvm::SmallVector<int64_t, 8>>(view);
  for (int64_t& element : elements) {
    // Of u64, beyond what int64 holds.
    if (view.dtype == DType::U64 && element < 0) element = std::numeric_limits<int64_t>::max();
    CODL_ASSIGN_OR_RETURN(
        integer, expect_integer(node.name, "elements of '" + node.inputs[i] + "'", element, use));
    element = integer;
  }
  return elements;
}

llvm::Expected<LargeVector<float>> Importer::float_constant(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(view, constant(node, i));
  return elements_of<LargeVector<float>>(view);
}

llvm::Expected<llvm::SmallVector<int64_t, 4>> Importer::dims_of(const OnnxNode& node,
                                                                size_t i) const {
  CODL_ASSIGN_OR_RETURN(binding, find_tensor(node, i));
  if (llvm::Error error = expect_known_extent(node, i, *binding)) return error;
  if (binding->constant != nullptr) return binding->constant->tensor.dims;
  const ir::Dims& dims = type(binding->value).dims;
  return llvm::SmallVector<int64_t, 4>(dims.begin(), dims.end());
}

llvm::Expected<DType> Importer::dtype_of(const OnnxNode& node, size_t i) const {
  CODL_ASSIGN_OR_RETURN(binding, find_tensor(node, i));
  return binding->constant != nullptr ? binding->constant->tensor.dtype
                                      : type(binding->value).dtype;
}

std::optional<llvm::SmallVector<int64_t, 4>> Importer::declared_dims(const OnnxNode& node,
                                                                     size_t i) const {
  if (i >= node.outputs.size()) return std::nullopt;
  auto found = declared_dims_.find(node.outputs[i]);
  if (found == declared_dims_.end()) found = declared_dims_.find(dims_root(node.outputs[i]));
  if (found == declared_dims_.end()) return std::nullopt;
  believed_ = node.outputs[i];
  return found->second;
}

bool Importer::believes_declared_dims(const OnnxNode& node) const {
  return !believed_.empty() && llvm::is_contained(node.outputs, believed_);
}

std::string Importer::fresh_name(std::string base) {
  std::string name = base;
  while (!names_.insert(name).second) name = base + "." + std::to_string(++next_suffix_[base]);
  return name;
}

std::string Importer::output_name(const OnnxNode& origin, llvm::StringRef suffix) {
  std::string first;
  for (size_t i = 0; first.empty() && i < origin.outputs.size(); ++i) first = origin.outputs[i];
  if (suffix.empty() && appended_.insert(first).second) return first;
  return fresh_name(suffix.empty() ? first : first + "." + suffix.str());
}

llvm::Expected<ir::ValueId> Importer::append_node(const OnnxNode& origin, llvm::StringRef suffix,
                                                  OpKind op, ir::OpParams params,
                                                  llvm::SmallVector<ir::ValueId, 4> inputs) {
  if (llvm::Error error = expect_room(origin.name)) return error;
  ir::Node node;
  node.op = op;
  node.params = std::move(params);
  node.inputs = std::move(inputs);
  node.name = suffix.empty() ? origin.name : origin.name + "." + suffix.str();
  CODL_ASSIGN_OR_RETURN(output_type, op_spec(op).infer(ir::NodeView{graph_, node}));
  return graph_.add_node(std::move(node), output_name(origin, suffix), output_type);
}

llvm::Expected<ir::ValueId> Importer::append_shaped(const OnnxNode& origin, llvm::StringRef suffix,
                                                    OpKind op, ir::OpParams params,
                                                    llvm::SmallVector<ir::ValueId, 4> inputs,
                                                    llvm::ArrayRef<int64_t> dims) {
  if (llvm::Error error = expect_room(origin.name)) return error;
  CODL_ASSIGN_OR_RETURN(output_type, checked_type(origin.name, type(inputs[0]).dtype, dims));
  ir::Node node;
  node.op = op;
  node.params = std::move(params);
  node.inputs = std::move(inputs);
  node.name = suffix.empty() ? origin.name : origin.name + "." + suffix.str();
  // infer() of these reads the output's dims, so the node comes first. After an error the import
  // ends, and the graph with it.
  const ir::ValueId output =
      graph_.add_node(std::move(node), output_name(origin, suffix), output_type);
  const ir::Node& added = graph_.node(graph_.value(output).producer);
  CODL_ASSIGN_OR_RETURN(inferred, op_spec(op).infer(ir::NodeView{graph_, added}));
  graph_.value(output).type = inferred;
  return output;
}

llvm::Expected<ir::ValueId> Importer::append_reshape(const OnnxNode& origin, llvm::StringRef suffix,
                                                     ir::ValueId input,
                                                     llvm::ArrayRef<int64_t> dims) {
  return append_shaped(origin, suffix, OpKind::Reshape, ir::OpParams(), {input}, dims);
}

llvm::Expected<ir::ValueId> Importer::add_constant(const OnnxNode& origin, llvm::StringRef suffix,
                                                   DType dtype, llvm::ArrayRef<int64_t> dims,
                                                   SharedBytes bytes) {
  CODL_ASSIGN_OR_RETURN(constant_type, checked_type(origin.name, dtype, dims));
  if (!budget_.take_bytes(static_cast<int64_t>(bytes.size())))
    return unsupported_error(origin.name,
                             "expected operators that need at most {0} bytes of constants beside "
                             "the weights as floats, found more",
                             kMaxConstantBytes);
  return graph_.add_constant(output_name(origin, suffix), constant_type, std::move(bytes));
}

llvm::Expected<ir::ValueId> Importer::constant_of_rank(const OnnxNode& origin,
                                                       llvm::StringRef suffix, ir::ValueId constant,
                                                       int32_t rank) {
  const auto known = constants_of_rank_.find({constant, rank});
  if (known != constants_of_rank_.end()) return known->second;
  const ir::Value& value = graph_.value(constant);
  llvm::SmallVector<int64_t, 4> dims(rank - value.type.rank(), 1);
  dims.append(value.type.dims.begin(), value.type.dims.end());
  CODL_ASSIGN_OR_RETURN(constant_type, checked_type(origin.name, value.type.dtype, dims));
  const SharedBytes bytes = value.bytes;  // no more of them
  const ir::ValueId added = graph_.add_constant(output_name(origin, suffix), constant_type, bytes);
  constants_of_rank_[{constant, rank}] = added;
  return added;
}

llvm::Expected<ir::ValueId> Importer::add_floats(const OnnxNode& origin, llvm::StringRef suffix,
                                                 llvm::ArrayRef<int64_t> dims,
                                                 llvm::ArrayRef<float> elements) {
  return add_constant(origin, suffix, DType::F32, dims, bytes_of(elements));
}

void Importer::bind(const OnnxNode& node, ir::ValueId value, size_t output) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return;
  Binding& binding = bindings_[node.outputs[output]];
  binding.value = value;
  binding.constant = nullptr;
}

void Importer::bind_constant(const OnnxNode& node, OnnxTensor tensor, size_t output) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return;
  // A name of its own if a value that the rule appended has the output's.
  const std::string& name = node.outputs[output];
  bindings_[name].constant =
      keep(appended_.insert(name).second ? name : fresh_name(name), std::move(tensor));
}

llvm::Error Importer::bind_operand(const OnnxNode& node, size_t i, size_t output) {
  auto binding = find(node, i);
  if (!binding) return binding.takeError();
  if (output >= node.outputs.size() || node.outputs[output].empty()) return llvm::Error::success();
  Binding copy = **binding;
  bindings_[node.outputs[output]] = std::move(copy);
  return llvm::Error::success();
}

void Importer::bind_extent(const OnnxNode& node, size_t output, Extent extent) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return;
  Binding& binding = bindings_[node.outputs[output]];
  binding.extents.push_back(extent);
  // What cannot be computed now is left to the run.
  llvm::consumeError(resolve_extents(binding, node.outputs[output]));
}

llvm::Error Importer::resolve_extents(Binding& binding, llvm::StringRef name) {
  if (binding.value == ir::kNoId || varies(binding.value)) return llvm::Error::success();
  for (const Extent& extent : binding.extents)
    if (varies(extent.count)) return llvm::Error::success();
  auto whole = evaluate(binding.value);
  if (!whole) return whole.takeError();
  if (*whole == nullptr) return llvm::Error::success();
  OnnxTensor tensor = (*whole)->tensor;
  for (const Extent& extent : binding.extents) {
    auto count = evaluate(extent.count);
    if (!count) return count.takeError();
    if (*count == nullptr) return llvm::Error::success();
    const int64_t elements = view_of(**count).as<int64_t>()[0];
    tensor = first_elements(tensor, extent.dim,
                            std::clamp<int64_t>(elements, 0, tensor.dims[extent.dim]));
  }
  if (!tensor.bytes.is_shared() && !budget_.take_bytes(static_cast<int64_t>(tensor.bytes.size())))
    return llvm::Error::success();
  binding.extents.clear();
  binding.constant = keep(fresh_name(name.str() + ".known"), std::move(tensor));
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::string>> Importer::import_body(const OnnxNode& node,
                                                               const OnnxGraph& body,
                                                               llvm::ArrayRef<std::string> inputs) {
  return body_import_(node, body, inputs);
}

void Importer::bind_name(const OnnxNode& node, size_t output, llvm::StringRef name) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return;
  Binding copy = bindings_.lookup(name);
  bindings_[node.outputs[output]] = std::move(copy);
}

std::string Importer::define_constant(const OnnxNode& node, llvm::StringRef suffix,
                                      OnnxTensor tensor) {
  const std::string name = output_name(node, suffix);
  bindings_[name].constant = keep(name, std::move(tensor));
  return name;
}

std::string Importer::define_value(const OnnxNode& node, llvm::StringRef suffix,
                                   ir::ValueId value) {
  const std::string name = output_name(node, suffix);
  bindings_[name].value = value;
  return name;
}

void Importer::bind_unavailable(const OnnxNode& node) {
  for (const std::string& output : node.outputs)
    if (!output.empty()) bindings_[output] = {};
}

llvm::Error Importer::expect_room(llvm::StringRef where) const {
  if (graph_.nodes().size() < kMaxNodes) return llvm::Error::success();
  return unsupported_error(where, "expected fewer than {0} nodes once written out, found more",
                           kMaxNodes);
}

bool Importer::is_usable(llvm::StringRef name) const {
  const auto found = bindings_.find(name);
  return found != bindings_.end() && found->second.is_usable();
}

bool Importer::is_sequence(llvm::StringRef name) const {
  const auto found = bindings_.find(name);
  return found != bindings_.end() && found->second.sequence != nullptr;
}

bool Importer::is_absent(llvm::StringRef name) const {
  const auto found = bindings_.find(name);
  return found != bindings_.end() && found->second.is_absent;
}

llvm::Expected<const Importer::Sequence*> Importer::sequence(const OnnxNode& node, size_t i) const {
  CODL_ASSIGN_OR_RETURN(binding, find(node, i));
  if (binding->sequence == nullptr)
    return input_error(node.name, "expected a sequence as input {0} ('{1}'), found {2}", i,
                       node.inputs[i], binding->is_absent ? "an optional without one" : "a tensor");
  return binding->sequence;
}

llvm::Error Importer::bind_sequence(const OnnxNode& node, Sequence sequence, size_t output) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return llvm::Error::success();
  sequence_elements_left_ -= static_cast<int64_t>(sequence.elements.size());
  if (sequence_elements_left_ < 0)
    return unsupported_error(node.name,
                             "expected sequences of at most {0} elements altogether, found more",
                             kMaxSequenceElements);
  sequences_.push_back(std::move(sequence));
  Binding& binding = bindings_[node.outputs[output]];
  binding = {};
  binding.sequence = &sequences_.back();
  return llvm::Error::success();
}

void Importer::bind_absent(const OnnxNode& node, size_t output) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return;
  Binding& binding = bindings_[node.outputs[output]];
  binding = {};
  binding.is_absent = true;
}

std::string Importer::define_name(const OnnxNode& node, llvm::StringRef suffix) {
  return output_name(node, suffix);
}

bool Importer::is_available(const OnnxNode& node) const {
  return llvm::all_of(node.inputs,
                      [&](const std::string& input) { return input.empty() || is_usable(input); });
}

llvm::Expected<ir::ValueId> Importer::own_value(const std::string& name, ir::ValueId value,
                                                DType dtype, const GivenNames& given) {
  ir::Value& source = graph_.value(value);
  const bool is_cast = source.type.dtype != dtype;
  if (!is_cast && source.producer != ir::kNoId && !given.values.contains(value)) {
    if (source.name == name) return value;
    // Another name for a value that nothing outside knows: this name, unless it is taken.
    if (appended_.insert(name).second) {
      source.name = name;
      return value;
    }
  }
  // The name goes to what leaves the network, from the value itself or from another that it was
  // computed of. An input or another output keeps it.
  bool is_kept = false;
  for (ir::ValueId id : given.by_name.lookup(name)) {
    ir::Value& holder = graph_.value(id);
    if (holder.name != name) continue;
    if (holder.is_input || given.values.contains(id))
      is_kept = true;
    else
      holder.name = fresh_name(name + ".value");
  }
  OnnxNode copy;
  copy.name = name;
  copy.outputs = {is_kept ? fresh_name(name + ".copy") : name};
  appended_.erase(copy.outputs[0]);
  if (is_cast)
    return append(copy, "", OpKind::Cast, CastParams{static_cast<int32_t>(dtype)}, {value});
  return append(copy, "", OpKind::Unary, UnaryParams{}, {value});
}

llvm::Error Importer::plan_elements(llvm::StringRef where, Binding& binding) {
  if (binding.constant == nullptr || !binding.constant->tensor.problem.empty())
    return llvm::Error::success();
  OnnxTensor tensor;
  tensor.dtype = binding.constant->tensor.dtype;
  tensor.dims = binding.constant->tensor.dims;
  if (!llvm::is_contained(tensor.dims, 0)) return llvm::Error::success();
  int64_t planned = 1;
  for (int64_t dim : tensor.dims)
    if (__builtin_mul_overflow(planned, std::max<int64_t>(dim, 1), &planned) ||
        planned > kMaxPlannedElements)
      return unsupported_error(where,
                               "expected at most {0} elements with 1 for dims of 0, found {1}",
                               kMaxPlannedElements, dims_text(tensor.dims));
  ir::TensorType scalar;
  scalar.dtype = DType::I64;
  const ir::ValueId none = graph_.add_constant(fresh_name(binding.constant->name + ".none"), scalar,
                                               std::vector<uint8_t>(sizeof(int64_t), 0));
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    if (tensor.dims[i] != 0) continue;
    tensor.dims[i] = 1;
    binding.extents.push_back({static_cast<int32_t>(i), none});
  }
  tensor.bytes = LargeBytes(tensor.element_count() * dtype_bytes(tensor.dtype));
  binding.constant = keep(fresh_name(binding.constant->name + ".planned"), std::move(tensor));
  return llvm::Error::success();
}

llvm::Expected<ir::ValueId> Importer::output_value(const OnnxValueInfo& output, Binding& binding) {
  const std::string where = "output '" + output.name + "'";
  if (!output.problem.empty())
    return unsupported_error(where, "expected a tensor of numbers or bools, found {0}",
                             output.problem);
  if (binding.sequence != nullptr || binding.is_absent)
    return unsupported_error(where, "expected a tensor, found {0}",
                             binding.is_absent ? "an optional without an element" : "a sequence");
  if (llvm::Error error = plan_elements(where, binding)) return error;
  CODL_ASSIGN_OR_RETURN(value, value_of(where, binding));
  if (output.dtype && held_dtype(*output.dtype) != type(value).dtype)
    return input_error(where, "expected the declared type {0}, computed {1}",
                       dtype_name(*output.dtype), ir::to_string(type(value)));
  return value;
}

void Importer::note_declared_dims(const OnnxGraph& graph) {
  // Of the values that are named; a network may have thousands.
  constexpr size_t kMaxNamed = 3;
  std::string text;
  size_t count = 0;
  for (const auto* infos : {&graph.outputs, &graph.values})
    for (const OnnxValueInfo& info : *infos) {
      const auto found = bindings_.find(info.name);
      if (found == bindings_.end() || !is_usable(info.name)) continue;
      const Binding& binding = found->second;
      llvm::SmallVector<int64_t, 4> dims;
      if (binding.constant != nullptr)
        dims = binding.constant->tensor.dims;
      else
        dims.assign(type(binding.value).dims.begin(), type(binding.value).dims.end());
      llvm::SmallVector<bool, kMaxRank> is_fixed(dims.size(), true);
      for (const Extent& extent : binding.extents) is_fixed[extent.dim] = false;
      if (agree(info, dims, is_fixed) || ++count > kMaxNamed) continue;
      text += (count == 1 ? "" : ", ") + ("'" + info.name + "' ") + dims_text(info.dims) + " is " +
              dims_text(dims);
    }
  if (count == 0) return;
  if (count > kMaxNamed) text += ", and " + std::to_string(count - kMaxNamed) + " more";
  notes_.push_back("declared dims that are not those computed, which hold: " + text);
}

llvm::Error Importer::finish(const OnnxGraph& graph) {
  if (graph.outputs.empty()) return input_error(graph.name, "expected a graph output, found none");
  llvm::SmallVector<ir::ValueId, 4> outputs;
  for (const OnnxValueInfo& output : graph.outputs) {
    auto found = bindings_.find(output.name);
    if (found == bindings_.end())
      return input_error(graph.name, "expected output '{0}' to be computed, found no such value",
                         output.name);
    auto value = output_value(output, found->second);
    if (!value) return value.takeError();
    outputs.push_back(*value);
  }
  note_declared_dims(graph);
  graph_.computed_bytes_left = budget_.bytes_left();
  // Every output has memory of its own. After the loop above: names are given away only when no
  // value has them.
  GivenNames given;
  std::vector<std::string> names;
  for (ir::ValueId id = 0; id < graph_.values().size(); ++id)
    given.by_name[graph_.value(id).name].push_back(id);
  llvm::SmallVector<ir::ValueId, 4> own;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OnnxValueInfo& output = graph.outputs[i];
    auto value =
        own_value(output.name, outputs[i], output.dtype.value_or(type(outputs[i]).dtype), given);
    if (!value) return value.takeError();
    own.push_back(*value);
    names.push_back(output.name);
    given.values.insert(*value);
    given.by_name[graph_.value(*value).name].push_back(*value);
  }
  std::vector<OutputExtent> extents;
  for (size_t i = 0; i < outputs.size(); ++i)
    for (const Extent& extent : bindings_[graph.outputs[i].name].extents) {
      const std::string name = graph.outputs[i].name + ".extent." + std::to_string(extent.dim);
      auto count = own_value(fresh_name(name), extent.count, DType::I64, given);
      if (!count) return count.takeError();
      extents.push_back({static_cast<uint32_t>(i), extent.dim, static_cast<uint32_t>(own.size())});
      own.push_back(*count);
      names.push_back(graph_.value(*count).name);
      given.values.insert(*count);
    }
  graph_.set_outputs(std::move(own), std::move(names));
  graph_.set_extents(std::move(extents));
  return llvm::Error::success();
}

llvm::Expected<int32_t> normalized_axis(const OnnxNode& node, int64_t axis, size_t rank) {
  const int64_t signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return input_error(node.name, "expected an axis in [{0}, {1}), found {2}", -signed_rank,
                       signed_rank, axis);
  return static_cast<int32_t>(axis < 0 ? axis + signed_rank : axis);
}

}  // namespace codl::compiler
