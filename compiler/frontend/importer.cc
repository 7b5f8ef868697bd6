#include "compiler/frontend/importer.h"

#include "compiler/interp/interpreter.h"
#include "compiler/ops/op_spec.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Elements of a constant that the importer is willing to compute: more than any weight of a network
// (VGG-16's first fully connected layer has 1.03e8), little enough that a hostile broadcast does
// not take the machine's memory.
constexpr int64_t kMaxEvaluatedElements = int64_t{1} << 27;

}  // namespace

llvm::Expected<Importer> Importer::create(OnnxModel& model) {
  Importer importer;
  importer.graph_.name = model.graph_name;

  auto define = [&](llvm::StringRef where, llvm::StringRef name) -> llvm::Error {
    if (name.empty()) return input_error(where, "expected a name, found none");
    if (!importer.names_.insert(name).second)
      return input_error(where, "expected each value to be defined once, found '{0}' again", name);
    return llvm::Error::success();
  };
  for (OnnxInput& input : model.inputs) {
    if (llvm::Error error = define("graph inputs", input.name)) return error;
    Binding& binding = importer.bindings_[input.name];
    if (!input.problem.empty()) continue;
    CODL_ASSIGN_OR_RETURN(type, checked_type("input '" + input.name + "'", DType::F32, input.dims));
    binding.value = importer.graph_.add_input(input.name, type);
  }
  for (OnnxInitializer& initializer : model.initializers) {
    if (llvm::Error error = define("initializers", initializer.name)) return error;
    importer.constants_.push_back({initializer.name, std::move(initializer.tensor), ir::kNoId});
    importer.bindings_[initializer.name].constant = &importer.constants_.back();
  }
  for (const OnnxNode& node : model.nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty())
        if (llvm::Error error = define(node.name, output)) return error;
  return importer;
}

llvm::Expected<const Importer::Binding*> Importer::find(const OnnxNode& node, size_t i) const {
  if (!node.has_input(i))
    return input_error(node.name, "expected input {0} of {1}, found {2} inputs", i, node.op_type,
                       node.inputs.size());
  return &bindings_.find(node.inputs[i])->second;
}

llvm::Expected<ir::ValueId> Importer::value_of(llvm::StringRef where, const Binding& binding) {
  if (binding.constant == nullptr) return binding.value;
  Constant& constant = *binding.constant;
  if (constant.value != ir::kNoId) return constant.value;
  OnnxTensor& tensor = constant.tensor;
  if (!tensor.problem.empty())
    return unsupported_error(where, "expected float data in '{0}', found {1}", constant.name,
                             tensor.problem);
  if (tensor.dtype != DType::F32)
    return unsupported_error(where, "expected float data in '{0}', found integers", constant.name);
  CODL_ASSIGN_OR_RETURN(constant_type, checked_type(constant.name, DType::F32, tensor.dims));
  constant.value = graph_.add_constant(constant.name, constant_type, std::move(tensor.bytes));
  return constant.value;
}

llvm::Expected<ir::ValueId> Importer::operand(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(binding, find(node, i));
  return value_of(node.name, *binding);
}

ConstantView Importer::view_of(const Constant& constant) const {
  const bool is_in_graph = constant.value != ir::kNoId;
  return {constant.tensor.dtype, constant.tensor.dims,
          is_in_graph ? graph_.value(constant.value).bytes : constant.tensor.bytes};
}

llvm::Expected<Importer::Constant*> Importer::evaluate(ir::ValueId value) {
  // Nodes the value needs, by one sweep from its producer to the front.
  const ir::NodeId last = graph_.value(value).producer;
  if (last == ir::kNoId) return nullptr;  // a graph input
  std::vector<bool> is_needed(last + 1, false);
  is_needed[last] = true;
  for (ir::NodeId id = last + 1; id-- > 0;) {
    if (!is_needed[id]) continue;
    if (type(graph_.node(id).output).element_count() > kMaxEvaluatedElements) return nullptr;
    for (ir::ValueId input : graph_.node(id).inputs) {
      if (graph_.value(input).is_input) return nullptr;
      if (!graph_.value(input).is_constant) is_needed[graph_.value(input).producer] = true;
    }
  }

  llvm::StringMap<Bytes> computed;  // by value name
  for (ir::NodeId id = 0; id <= last; ++id) {
    if (!is_needed[id]) continue;
    const ir::Node& node = graph_.node(id);
    llvm::SmallVector<llvm::ArrayRef<uint8_t>, 4> inputs;
    for (ir::ValueId input : node.inputs) {
      const ir::Value& input_value = graph_.value(input);
      const Bytes& bytes = input_value.is_constant ? input_value.bytes : computed[input_value.name];
      inputs.push_back(bytes);
    }
    CODL_ASSIGN_OR_RETURN(output, evaluate_node(ir::NodeView{graph_, node}, inputs));
    computed[graph_.value(node.output).name] = std::move(output);
  }

  // A constant beside the nodes; if nothing else reads those, eliminate_dead removes them.
  Constant result;
  result.name = fresh_name(graph_.value(value).name + ".folded");
  result.tensor.dims.assign(type(value).dims.begin(), type(value).dims.end());
  result.tensor.bytes = std::move(computed[graph_.value(value).name]);
  constants_.push_back(std::move(result));
  return &constants_.back();
}

llvm::Expected<ConstantView> Importer::constant(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(binding, find(node, i));
  Constant* found = binding->constant;
  if (found == nullptr) {
    CODL_ASSIGN_OR_RETURN(evaluated, evaluate(binding->value));
    found = evaluated;
    // Every later reader of the name sees the constant.
    bindings_[node.inputs[i]].constant = found;
  }
  if (found == nullptr)
    return unsupported_error(node.name,
                             "expected a constant as input {0} ('{1}'), found a computed value", i,
                             node.inputs[i]);
  if (!found->tensor.problem.empty())
    return unsupported_error(node.name, "expected float or integer data in '{0}', found {1}",
                             found->name, found->tensor.problem);
  return view_of(*found);
}

llvm::Expected<llvm::ArrayRef<int64_t>> Importer::int_constant(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(view, constant(node, i));
  if (view.dtype != DType::I64)
    return input_error(node.name, "expected integers in '{0}', found floats", node.inputs[i]);
  return view.as<int64_t>();
}

llvm::Expected<ConstantView> Importer::float_constant(const OnnxNode& node, size_t i) {
  CODL_ASSIGN_OR_RETURN(view, constant(node, i));
  if (view.dtype != DType::F32)
    return input_error(node.name, "expected floats in '{0}', found integers", node.inputs[i]);
  return view;
}

bool Importer::is_int_constant(const OnnxNode& node, size_t i) const {
  if (!node.has_input(i)) return false;
  const Binding& binding = bindings_.find(node.inputs[i])->second;
  return binding.constant != nullptr && binding.constant->tensor.problem.empty() &&
         binding.constant->tensor.dtype == DType::I64;
}

llvm::Expected<llvm::SmallVector<int64_t, 4>> Importer::dims_of(const OnnxNode& node,
                                                                size_t i) const {
  CODL_ASSIGN_OR_RETURN(binding, find(node, i));
  if (binding->constant != nullptr) return binding->constant->tensor.dims;
  const ir::Dims& dims = type(binding->value).dims;
  return llvm::SmallVector<int64_t, 4>(dims.begin(), dims.end());
}

std::string Importer::fresh_name(std::string base) {
  std::string name = base;
  for (int suffix = 1; !names_.insert(name).second; ++suffix)
    name = base + "." + std::to_string(suffix);
  return name;
}

std::string Importer::output_name(const OnnxNode& origin, llvm::StringRef suffix) {
  if (suffix.empty()) return origin.outputs[0];
  return fresh_name(origin.outputs[0] + "." + suffix.str());
}

llvm::Expected<ir::ValueId> Importer::append_node(const OnnxNode& origin, llvm::StringRef suffix,
                                                  OpKind op, ir::OpParams params,
                                                  llvm::SmallVector<ir::ValueId, 4> inputs) {
  ir::Node node;
  node.op = op;
  node.params = std::move(params);
  node.inputs = std::move(inputs);
  node.name = suffix.empty() ? origin.name : origin.name + "." + suffix.str();
  CODL_ASSIGN_OR_RETURN(output_type, op_spec(op).infer(ir::NodeView{graph_, node}));
  return graph_.add_node(std::move(node), output_name(origin, suffix), output_type);
}

llvm::Expected<ir::ValueId> Importer::append_reshape(const OnnxNode& origin, llvm::StringRef suffix,
                                                     ir::ValueId input,
                                                     llvm::ArrayRef<int64_t> dims) {
  CODL_ASSIGN_OR_RETURN(output_type, checked_type(origin.name, DType::F32, dims));
  if (output_type.element_count() != type(input).element_count())
    return input_error(origin.name, "expected as many elements as {0}, found {1}",
                       ir::to_string(type(input)), ir::to_string(output_type));
  ir::Node node;
  node.op = OpKind::Reshape;
  node.inputs = {input};
  node.name = suffix.empty() ? origin.name : origin.name + "." + suffix.str();
  return graph_.add_node(std::move(node), output_name(origin, suffix), output_type);
}

llvm::Expected<ir::ValueId> Importer::add_floats(const OnnxNode& origin, llvm::StringRef suffix,
                                                 llvm::ArrayRef<int64_t> dims,
                                                 llvm::ArrayRef<float> elements) {
  CODL_ASSIGN_OR_RETURN(constant_type, checked_type(origin.name, DType::F32, dims));
  const auto* first = reinterpret_cast<const uint8_t*>(elements.data());
  return graph_.add_constant(output_name(origin, suffix), constant_type,
                             std::vector<uint8_t>(first, first + elements.size() * sizeof(float)));
}

void Importer::bind(const OnnxNode& node, ir::ValueId value) {
  bindings_[node.outputs[0]].value = value;
}

void Importer::bind_constant(const OnnxNode& node, OnnxTensor tensor) {
  constants_.push_back({node.outputs[0], std::move(tensor), ir::kNoId});
  bindings_[node.outputs[0]].constant = &constants_.back();
}

llvm::Error Importer::bind_operand(const OnnxNode& node, size_t i) {
  auto binding = find(node, i);
  if (!binding) return binding.takeError();
  const Binding copy = **binding;
  bindings_[node.outputs[0]] = copy;
  return llvm::Error::success();
}

void Importer::bind_unavailable(const OnnxNode& node) {
  for (const std::string& output : node.outputs)
    if (!output.empty()) bindings_[output] = {};
}

bool Importer::is_available(const OnnxNode& node) const {
  return llvm::all_of(node.inputs, [&](const std::string& input) {
    if (input.empty()) return true;
    const auto found = bindings_.find(input);
    return found != bindings_.end() &&
           (found->second.constant != nullptr || found->second.value != ir::kNoId);
  });
}

llvm::Error Importer::finish(const OnnxModel& model) {
  if (model.outputs.empty())
    return input_error(model.graph_name, "expected a graph output, found none");
  llvm::SmallVector<ir::ValueId, 4> outputs;
  llvm::StringSet<> output_names;
  for (const std::string& name : model.outputs) {
    const auto found = bindings_.find(name);
    if (found == bindings_.end())
      return input_error(model.graph_name,
                         "expected output '{0}' to be computed, found no such value", name);
    if (!output_names.insert(name).second)
      return input_error(model.graph_name, "expected each output once, found '{0}' again", name);
    auto value = value_of(name, found->second);
    if (!value) return value.takeError();
    outputs.push_back(*value);
  }
  // An output that is an input, a constant or another name for a value is copied, so that every
  // output has memory of its own under its own name. After the loop above: names are given away
  // only when no value has them.
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::Value& value = graph_.value(outputs[i]);
    if (value.name == model.outputs[i] && value.producer != ir::kNoId) continue;
    OnnxNode copy;
    copy.name = model.outputs[i];
    copy.outputs = {value.name == copy.name ? fresh_name(copy.name + ".copy") : copy.name};
    auto copied = append(copy, "", OpKind::Unary, UnaryParams{}, {outputs[i]});
    if (!copied) return copied.takeError();
    outputs[i] = *copied;
  }
  graph_.set_outputs(std::move(outputs));
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
