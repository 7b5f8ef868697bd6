#include "compiler/frontend/graph/importer.h"

#include <algorithm>
#include <limits>

#include "compiler/interp/interpreter.h"
#include "compiler/ops/op_spec.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Adds the initializers and the tensors that nodes have as attributes.
void add_weights(const OnnxGraph& graph, DistinctBytes& weights) {
  const auto add = [&](const OnnxTensor& tensor) {
    weights.add(tensor.bytes, dtype_bytes(tensor.dtype));
  };
  for (const OnnxInitializer& initializer : graph.initializers) add(initializer.tensor);
  for (const OnnxNode& node : graph.nodes)
    for (const OnnxAttribute& attribute : node.attributes) add(attribute.tensor);
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
  if (held == *input.dtype || *input.dtype == DType::F64) return llvm::Error::success();
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
  // The dims are checked as if there were elements, because the other dims need limits, too.
  llvm::SmallVector<int64_t, 4> dims = input.dims;
  std::replace(dims.begin(), dims.end(), int64_t{0}, int64_t{1});
  auto type = checked_type("input '" + input.name + "'", *input.dtype, dims);
  if (!type) return type.takeError();
  type->dims.assign(input.dims.begin(), input.dims.end());
  graph_.add_input(input.name, *type);
  OnnxTensor tensor;
  tensor.dtype = *input.dtype == DType::F64 ? DType::F64 : held_dtype(*input.dtype);
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
  // Each trip of a Loop computes with the body's weights, which all trips share.
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

bool Importer::enter_rule(const OnnxNode& node, bool computes_in_doubles) {
  const bool outer = sees_doubles_;
  sees_doubles_ = true;
  for (size_t i = 0; i < node.inputs.size() && computes_in_doubles; ++i) {
    const auto found = bindings_.find(node.inputs[i]);
    if (found == bindings_.end()) continue;
    const Binding& binding = found->second;
    if (binding.constant != nullptr)
      computes_in_doubles = binding.constant->tensor.dtype != DType::F32;
    else if (binding.value != ir::kNoId)
      computes_in_doubles = type(binding.value).dtype != DType::F32;
  }
  sees_doubles_ = computes_in_doubles;
  return outer;
}

Importer::Constant* Importer::seen(Constant* constant) {
  if (constant->tensor.dtype != DType::F64 || sees_doubles_) return constant;
  Constant*& narrowed = narrowed_constants_[constant];
  if (narrowed != nullptr) return narrowed;
  OnnxTensor tensor = constant->tensor;
  tensor.dtype = DType::F32;
  const ConstantView view = view_of(*constant);
  LargeBytes floats;
  for (double element : view.as<double>()) {
    const auto narrow = static_cast<float>(element);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&narrow);
    floats.insert(floats.end(), bytes, bytes + sizeof narrow);
  }
  tensor.bytes = std::move(floats);
  return narrowed = keep(fresh_name(constant->name + ".f32"), std::move(tensor));
}

llvm::Expected<ir::ValueId> Importer::value_of(llvm::StringRef where, const Binding& binding) {
  if (binding.constant == nullptr) {
    if (type(binding.value).dtype != DType::F64 || sees_doubles_) return binding.value;
    ir::ValueId& narrowed = narrowed_values_.insert({binding.value, ir::kNoId}).first->second;
    if (narrowed != ir::kNoId) return narrowed;
    OnnxNode cast;
    cast.name = graph_.value(binding.value).name;
    cast.outputs = {cast.name};
    CODL_ASSIGN_OR_RETURN(
        value, append(cast, "f32", OpKind::Cast, CastParams{static_cast<int32_t>(DType::F32)},
                      {binding.value}));
    return narrowed_values_[binding.value] = value;
  }
  Constant& constant = *seen(binding.constant);
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
  return seen(binding->constant != nullptr ? binding->constant->tensor.dtype
                                           : type(binding->value).dtype);
}

int Importer::bits_of(const OnnxNode& node, size_t i) const {
  const auto found = node.has_input(i) ? bindings_.find(node.inputs[i]) : bindings_.end();
  const bool is_constant = found != bindings_.end() && found->second.constant != nullptr;
  return is_constant ? found->second.constant->tensor.bits : 0;
}

bool Importer::is_without_elements(const OnnxNode& node, size_t i) const {
  const auto found = node.has_input(i) ? bindings_.find(node.inputs[i]) : bindings_.end();
  if (found == bindings_.end() || found->second.constant == nullptr) return false;
  const OnnxTensor& tensor = found->second.constant->tensor;
  return tensor.problem.empty() && llvm::is_contained(tensor.dims, 0);
}

bool Importer::reads_no_elements(const OnnxNode& node) const {
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (is_without_elements(node, i)) return true;
  return false;
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
  // For these operators, infer() reads the output's dims, so the node must exist first. After an
  // error the import ends, and the graph with it.
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
  const SharedBytes bytes = value.bytes;  // shared, not copied
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
  // Makes another name if a value that the rule appended has the output's.
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
  // An extent that cannot be computed now is computed at run time.
  llvm::consumeError(resolve_extents(binding, node.outputs[output]));
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

llvm::Expected<int32_t> normalized_axis(const OnnxNode& node, int64_t axis, size_t rank) {
  const int64_t signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    return input_error(node.name, "expected an axis in [{0}, {1}), found {2}", -signed_rank,
                       signed_rank, axis);
  return static_cast<int32_t>(axis < 0 ? axis + signed_rank : axis);
}

}  // namespace codl::compiler
