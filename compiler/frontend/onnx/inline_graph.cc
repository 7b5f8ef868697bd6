#include "compiler/frontend/onnx/inline_graph.h"

#include <functional>

#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Limits nodes in all copies of a model: a few bytes of a hostile file can ask for 2^n nodes.
constexpr int64_t kMaxCopiedNodes = 1 << 16;
constexpr int64_t kMaxCopiedBytes = int64_t{1} << 28;
constexpr size_t kMaxCallDepth = 32;
// Names grow by their node's name at every level.
constexpr size_t kMaxPrefix = 128;

std::string key_of(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload) {
  return (domain + "\n" + name + "\n" + overload).str();
}

// Names in a copy come from a map, then, for names outside it, from a rule (null: they stay).
class Renamer {
 public:
  using Rule = std::function<std::string(llvm::StringRef)>;
  Renamer(Renaming& names, Rule rule) : names_(names), rule_(std::move(rule)) {}

  void rename(std::string& name) {
    if (name.empty()) return;
    const auto known = names_.find(name);
    if (known != names_.end()) {
      name = known->second;
    } else if (rule_) {
      name = names_[name] = rule_(name);
    }
  }

  void rename(OnnxNode& node) {
    for (std::string& input : node.inputs) rename(input);
    for (std::string& output : node.outputs) rename(output);
    for (OnnxAttribute& attribute : node.attributes) {
      if (attribute.graph == nullptr) continue;
      OnnxGraph graph = *attribute.graph;
      rename(graph);
      attribute.graph = std::make_shared<const OnnxGraph>(std::move(graph));
    }
  }

  void rename(OnnxGraph& graph) {
    for (OnnxInitializer& initializer : graph.initializers) rename(initializer.name);
    for (auto* infos : {&graph.inputs, &graph.outputs, &graph.values})
      for (OnnxValueInfo& info : *infos) rename(info.name);
    for (OnnxNode& node : graph.nodes) rename(node);
  }

 private:
  Renaming& names_;
  Rule rule_;
};

// Gives each attribute that refers to one of the call's that value. If the call lacks it, and there
// is no default, it is absent.
void bind_attributes(OnnxNode& node, const OnnxNode& call, const OnnxFunction& function) {
  std::vector<OnnxAttribute> bound;
  for (OnnxAttribute& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      if (attribute.graph != nullptr) {
        OnnxGraph graph = *attribute.graph;
        for (OnnxNode& inner : graph.nodes) bind_attributes(inner, call, function);
        attribute.graph = std::make_shared<const OnnxGraph>(std::move(graph));
      }
      bound.push_back(std::move(attribute));
      continue;
    }
    const OnnxAttribute* value = call.find(attribute.reference);
    for (const OnnxAttribute& fallback : function.defaults)
      if (value == nullptr && fallback.name == attribute.reference) value = &fallback;
    if (value == nullptr) continue;
    OnnxAttribute copy = *value;
    copy.name = attribute.name;
    copy.was_asked = false;
    bound.push_back(std::move(copy));
  }
  node.attributes = std::move(bound);
}

int64_t bytes_of(const OnnxGraph& graph);

// Estimates the memory of a copy of the node.
int64_t bytes_of(const OnnxNode& node) {
  int64_t bytes = sizeof(OnnxNode) + node.name.size();
  for (const auto* names : {&node.inputs, &node.outputs})
    for (const std::string& name : *names) bytes += sizeof name + name.size();
  for (const OnnxAttribute& attribute : node.attributes) {
    bytes += sizeof attribute + attribute.tensor.bytes.size() + attribute.string_value.size() +
             8 * (attribute.ints.size() + attribute.floats.size());
    if (attribute.graph == nullptr) continue;
    bytes += bytes_of(*attribute.graph);
    for (const OnnxNode& inner : attribute.graph->nodes) bytes += bytes_of(inner);
  }
  return bytes;
}

// Returns the same for a graph without its nodes.
int64_t bytes_of(const OnnxGraph& graph) {
  int64_t bytes = sizeof graph;
  for (const auto* infos : {&graph.inputs, &graph.outputs, &graph.values})
    for (const OnnxValueInfo& info : *infos) bytes += sizeof info + info.name.size();
  for (const OnnxInitializer& initializer : graph.initializers)
    bytes += sizeof initializer + initializer.name.size() + initializer.tensor.bytes.size();
  return bytes;
}

std::string prefix_of(const OnnxNode& node) { return node.name.substr(0, kMaxPrefix) + "/"; }

}  // namespace

Inliner::Inliner(const OnnxModel& model, Predicate is_taken)
    : functions_(model.functions),
      is_taken_(std::move(is_taken)),
      nodes_left_(kMaxCopiedNodes),
      bytes_left_(kMaxCopiedBytes) {
  for (const OnnxFunction& function : functions_)
    function_by_key_[key_of(function.domain, function.name, function.overload)] = &function;
  for (const OnnxValueInfo& input : model.graph.inputs) names_.insert(input.name);
  for (const OnnxInitializer& initializer : model.graph.initializers)
    names_.insert(initializer.name);
  for (const OnnxNode& node : model.graph.nodes)
    for (const std::string& output : node.outputs) names_.insert(output);
}

const OnnxFunction* Inliner::function_of(const OnnxNode& node) const {
  return function_by_key_.lookup(key_of(node.domain, node.op_type, node.overload));
}

std::string Inliner::fresh_name(llvm::StringRef prefix, llvm::StringRef name) {
  const std::string base = (prefix + name).str();
  std::string fresh = base;
  while (!names_.insert(fresh).second || (is_taken_ && is_taken_(fresh)))
    fresh = base + "." + std::to_string(++next_suffix_[base]);
  return fresh;
}

llvm::Error Inliner::take_budget(llvm::StringRef where, int64_t nodes, int64_t bytes) {
  nodes_left_ -= nodes;
  bytes_left_ -= bytes;
  if (nodes_left_ >= 0 && bytes_left_ >= 0) return llvm::Error::success();
  return unsupported_error(where,
                           "expected functions and bodies of at most {0} nodes and {1} bytes once "
                           "written out, found more",
                           kMaxCopiedNodes, kMaxCopiedBytes);
}

llvm::Error Inliner::expand_functions(std::vector<OnnxNode>& nodes) {
  if (functions_.empty()) return llvm::Error::success();
  std::vector<OnnxNode> expanded;
  for (OnnxNode& node : nodes)
    if (llvm::Error error = expand(std::move(node), expanded)) return error;
  nodes = std::move(expanded);
  return llvm::Error::success();
}

llvm::Error Inliner::expand(OnnxNode node, std::vector<OnnxNode>& into) {
  const OnnxFunction* function = function_of(node);
  if (function == nullptr) {
    into.push_back(std::move(node));
    return llvm::Error::success();
  }
  if (llvm::is_contained(active_, function))
    return input_error(node.name, "expected functions that do not call themselves, found '{0}'",
                       node.op_type);
  if (active_.size() >= kMaxCallDepth)
    return unsupported_error(node.name, "expected functions at most {0} calls deep, found more",
                             kMaxCallDepth);
  active_.push_back(function);
  llvm::Error error = expand_call(node, *function, into);
  active_.pop_back();
  return error;
}

llvm::Error Inliner::expand_call(const OnnxNode& call, const OnnxFunction& function,
                                 std::vector<OnnxNode>& into) {
  if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size())
    return input_error(call.name,
                       "expected at most {0} inputs and {1} outputs of '{2}', found {3} "
                       "and {4}",
                       function.inputs.size(), function.outputs.size(), function.name,
                       call.inputs.size(), call.outputs.size());
  for (const OnnxAttribute& attribute : call.attributes) {
    const bool has_default = llvm::any_of(function.defaults, [&](const OnnxAttribute& known) {
      return known.name == attribute.name;
    });
    if (!has_default && !llvm::is_contained(function.attributes, attribute.name))
      return unsupported_error(call.name, "expected attributes that '{0}' has, found '{1}'",
                               function.name, attribute.name);
  }
  const std::string prefix = prefix_of(call);
  Renaming names;
  for (size_t i = 0; i < function.inputs.size(); ++i)
    names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
  std::vector<OnnxNode> passed_on;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].empty()) continue;
    const auto [known, is_new] = names.insert({function.outputs[i], call.outputs[i]});
    if (is_new) continue;
    // Copies an input that is an output itself, or an output given twice.
    OnnxNode identity;
    identity.op_type = "Identity";
    identity.opset = kOldestOpset;
    identity.name = call.outputs[i];
    identity.inputs = {known->second};
    identity.outputs = {call.outputs[i]};
    passed_on.push_back(std::move(identity));
  }
  Renamer renamer(names, [&](llvm::StringRef name) { return fresh_name(prefix, name); });
  for (const OnnxNode& original : function.nodes) {
    if (llvm::Error error = take_budget(original.name, 1, bytes_of(original))) return error;
    OnnxNode node = original;
    bind_attributes(node, call, function);
    renamer.rename(node);
    node.name = prefix + node.name;
    if (llvm::Error error = expand(std::move(node), into)) return error;
  }
  for (OnnxNode& identity : passed_on) into.push_back(std::move(identity));
  return llvm::Error::success();
}

llvm::Expected<OnnxGraph> Inliner::instance_of(const OnnxNode& node, const OnnxGraph& body,
                                               llvm::ArrayRef<std::string> inputs) {
  if (inputs.size() != body.inputs.size())
    return input_error(node.name, "expected a body with {0} inputs, found {1}", inputs.size(),
                       body.inputs.size());
  if (llvm::Error error = take_budget(node.name, 0, bytes_of(body))) return error;
  for (const OnnxNode& original : body.nodes)
    if (llvm::Error error = take_budget(original.name, 1, bytes_of(original))) return error;
  const std::string prefix = prefix_of(node);
  Renaming names;
  auto define = [&](const std::string& name) -> llvm::Error {
    if (name.empty()) return llvm::Error::success();
    if (!names.insert({name, fresh_name(prefix, name)}).second)
      return input_error(node.name, "expected each value to be defined once, found '{0}' again",
                         name);
    return llvm::Error::success();
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!names.insert({body.inputs[i].name, inputs[i]}).second)
      return input_error(node.name, "expected each value to be defined once, found '{0}' again",
                         body.inputs[i].name);
  for (const OnnxInitializer& initializer : body.initializers)
    if (llvm::Error error = define(initializer.name)) return error;
  for (const OnnxNode& inner : body.nodes)
    for (const std::string& output : inner.outputs)
      if (llvm::Error error = define(output)) return error;

  OnnxGraph instance = body;
  Renamer(names, nullptr).rename(instance);
  instance.inputs.clear();
  for (OnnxNode& inner : instance.nodes) inner.name = prefix + inner.name;
  if (llvm::Error error = expand_functions(instance.nodes)) return error;
  return instance;
}

}  // namespace codl::compiler
