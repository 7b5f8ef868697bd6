#include "compiler/frontend/onnx_import.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <queue>
#include <set>

#include "compiler/frontend/graph/importer.h"
#include "compiler/frontend/graph/no_elements.h"
#include "compiler/frontend/onnx/inline_graph.h"
#include "compiler/frontend/onnx/input_shapes.h"
#include "compiler/frontend/onnx/input_values.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/frontend/states.h"
#include "compiler/support/error.h"
#include "llvm/ADT/StringExtras.h"

namespace codl::compiler {
namespace {

// Returns the names of the node's operands, and of values that its bodies read from around it.
std::vector<std::string> names_read_by(const OnnxNode& node) {
  std::vector<std::string> names = captured_names(node);
  for (const std::string& input : node.inputs)
    if (!input.empty()) names.push_back(input);
  return names;
}

// Returns the nodes in an order in which each follows its operands: the file's order if possible,
// else the nearest to it (some exporters do not sort). Errors: Input (a value that nothing defines,
// a cycle).
llvm::Expected<std::vector<size_t>> topological_order(const std::vector<OnnxNode>& nodes,
                                                      const Importer& importer) {
  llvm::StringMap<size_t> producer;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& output : nodes[i].outputs)
      if (!output.empty()) producer[output] = i;

  std::vector<std::vector<size_t>> readers(nodes.size());
  std::vector<size_t> open_inputs(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : names_read_by(nodes[i])) {
      const auto found = producer.find(input);
      // A body's node may read values from around it.
      if (found == producer.end() && importer.is_defined(input)) continue;
      if (found == producer.end())
        return input_error(nodes[i].name, "expected input '{0}' to be defined, found nothing",
                           input);
      readers[found->second].push_back(i);
      ++open_inputs[i];
    }
  }

  std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (open_inputs[i] == 0) ready.push(i);
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (size_t reader : readers[node])
      if (--open_inputs[reader] == 0) ready.push(reader);
  }
  if (order.size() != nodes.size()) {
    const auto stuck = std::find_if(open_inputs.begin(), open_inputs.end(),
                                    [](size_t count) { return count != 0; });
    return input_error(nodes[stuck - open_inputs.begin()].name,
                       "expected a graph without cycles, found one behind or through this node");
  }
  return order;
}

// Collects everything that codl cannot import over the whole model, because a user wants the list,
// not the first. Nodes with the same operator and reason are named together.
class UnsupportedNodes {
 public:
  void add(const std::string& op_type, int64_t opset, const std::string& reason,
           const std::string& name) {
    ++size_;
    for (ImportProblem& problem : problems_)
      if (problem.op_type == op_type && problem.opset == opset && problem.reason == reason) {
        problem.nodes.push_back(name);
        return;
      }
    problems_.push_back({op_type, opset, {name}, reason});
  }
  bool empty() const { return problems_.empty(); }
  size_t size() const { return size_; }

  llvm::Error error(llvm::StringRef path) const {
    std::string text = "expected a model of operators that codl imports (codlc --list-ops), found";
    for (size_t i = 0; i < problems_.size(); ++i)
      text += (i == 0 ? " " : "; ") + problems_[i].what() + " [" +
              llvm::join(problems_[i].nodes, ", ") + "]: " + problems_[i].reason;
    return llvm::make_error<ImportError>(path.str(), std::move(text), problems_);
  }

 private:
  std::vector<ImportProblem> problems_;
  size_t size_ = 0;  // number of add() calls
};

UnsupportedNodes unsupported_inputs(const OnnxGraph& graph) {
  UnsupportedNodes unsupported;
  for (const OnnxValueInfo& input : graph.inputs)
    if (!input.problem.empty()) unsupported.add("", 0, input.problem, input.name);
  return unsupported;
}

class Import {
 public:
  Import(OnnxModel& model, Importer& importer)
      : model_(model),
        importer_(importer),
        inliner_(model, [&importer](llvm::StringRef name) { return importer.is_taken(name); }) {
    importer.set_body_import(
        [this](const OnnxNode& node, const OnnxGraph& body, llvm::ArrayRef<std::string> inputs) {
          return import_body(node, body, inputs);
        });
  }

  llvm::Expected<ir::Graph> run(llvm::StringRef path) {
    const OnnxGraph& graph = model_.graph;
    unsupported_ = unsupported_inputs(graph);
    if (llvm::Error error = import_nodes(graph)) return error;
    if (!unsupported_.empty()) return unsupported_.error(path);
    if (llvm::Error error = importer_.finish(graph)) return error;
    return std::move(importer_.graph());
  }

 private:
  // Nodes that no output needs are left alone, because models carry remains of their training.
  llvm::Error import_nodes(const OnnxGraph& graph) {
    auto order = topological_order(graph.nodes, importer_);
    if (!order) return order.takeError();
    for (const OnnxValueInfo& output : graph.outputs) read_names_.insert(output.name);
    std::vector<bool> is_needed(graph.nodes.size(), false);
    for (size_t i : llvm::reverse(*order)) {
      const OnnxNode& node = graph.nodes[i];
      is_needed[i] = llvm::any_of(
          node.outputs, [&](const std::string& output) { return read_names_.contains(output); });
      if (!is_needed[i]) continue;
      for (const std::string& name : names_read_by(node)) read_names_.insert(name);
    }
    std::vector<const OnnxNode*> needed;
    for (size_t i : *order)
      if (is_needed[i]) needed.push_back(&graph.nodes[i]);
    importer_.relate_dims(needed);
    for (const OnnxNode* node : needed) {
      if (llvm::Error error = import_node(*node)) return error;
      // This reason is enough: every later node would have it, too.
      if (llvm::Error error = importer_.expect_room(node->name)) return error;
    }
    return llvm::Error::success();
  }

  llvm::Expected<std::vector<std::string>> import_body(const OnnxNode& node, const OnnxGraph& body,
                                                       llvm::ArrayRef<std::string> inputs) {
    CODL_ASSIGN_OR_RETURN(instance, inliner_.instance_of(node, body, inputs));
    if (llvm::Error error = importer_.declare(instance)) return error;
    if (llvm::Error error = import_nodes(instance)) return error;
    std::vector<std::string> outputs;
    for (const OnnxValueInfo& output : instance.outputs) {
      if (!importer_.is_defined(output.name))
        return input_error(node.name,
                           "expected output '{0}' of a body to be computed, found no "
                           "such value",
                           output.name);
      outputs.push_back(output.name);
    }
    return outputs;
  }

  llvm::Error import_node(const OnnxNode& node) {
    // Holds until a rule binds it.
    importer_.bind_unavailable(node);
    const ImportEntry* entry = find_entry(node);
    if (entry == nullptr) return llvm::Error::success();
    if (!importer_.is_available(node)) return llvm::Error::success();
    return llvm::handleErrors(
        run_rule(*entry, node), [&](std::unique_ptr<CompileError> error) -> llvm::Error {
          if (error->kind() == ExitCode::Input && importer_.believes_declared_dims(node))
            add_unsupported(node, declared_dims_do_not_fit(node, *error));
          else if (error->kind() != ExitCode::Unsupported)
            return llvm::Error(std::move(error));
          else
            add_unsupported(node, error->text().str());
          importer_.bind_unavailable(node);
          return llvm::Error::success();
        });
  }

  llvm::Error run_rule(const ImportEntry& entry, const OnnxNode& node) {
    const size_t reasons = unsupported_.size();
    const bool outer = importer_.enter_rule(node, entry.computes_in_doubles);
    llvm::Error rule_error = entry.rule(node, importer_);
    if (rule_error && importer_.reads_no_elements(node))
      rule_error = import_without_elements(entry, node, importer_, std::move(rule_error));
    importer_.leave_rule(outer);
    importer_.forget_large_constants();
    if (rule_error) return rule_error;
    for (const OnnxAttribute& attribute : node.attributes)
      if (!attribute.was_asked)
        return unsupported_error(node.name, "expected attributes of the operator, found '{0}'",
                                 attribute.name);
    // A body of the node has reported why already.
    if (unsupported_.size() != reasons) return llvm::Error::success();
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (read_names_.contains(node.outputs[i]) && !importer_.is_usable(node.outputs[i]))
        return unsupported_error(node.name, "expected output {0} not to be read, found a reader",
                                 i);
    return llvm::Error::success();
  }

  // Declared dims are hints. If they are wrong, the model is not at fault, but nothing else tells
  // the dims.
  std::string declared_dims_do_not_fit(const OnnxNode& node, const CompileError& error) {
    // The first of several operands is data.
    std::vector<size_t> settings;
    for (size_t i = node.inputs.size() > 1 ? 1 : 0; i < node.inputs.size(); ++i)
      settings.push_back(i);
    return "expected constant operands, or declared dims that fit, found: " + error.text().str() +
           importer_.how_to_fix(node, settings);
  }

  // Returns null, and reports a reason, if the operator is not imported.
  const ImportEntry* find_entry(const OnnxNode& node) {
    bool is_known = false;
    bool is_known_domain = node.domain.empty();
    for (const ImportEntry& entry : import_table()) {
      if (entry.domain != node.domain) continue;
      is_known_domain = true;
      if (entry.op_type != node.op_type) continue;
      is_known = true;
      // The newest known meaning also holds for newer opsets.
      const bool is_newest = entry.newest_opset >= kNewestOpset;
      if (entry.oldest_opset <= node.opset && (node.opset <= entry.newest_opset || is_newest))
        return &entry;
    }
    if (!is_known_domain) {
      add_unsupported(node,
                      "expected an operator of the ONNX domain or a function of the model, "
                      "found domain '" +
                          node.domain + "'");
      return nullptr;
    }
    add_unsupported(node, is_known ? "not imported at this opset" : "operator not imported");
    return nullptr;
  }

  void add_unsupported(const OnnxNode& node, const std::string& reason) {
    unsupported_.add(qualified_name(node.domain, node.op_type), node.opset, reason, node.name);
  }

  const OnnxModel& model_;
  Importer& importer_;
  Inliner inliner_;
  llvm::StringSet<> read_names_;
  UnsupportedNodes unsupported_;
};

}  // namespace

char ImportError::ID;

std::string ImportProblem::what() const {
  return op_type.empty() ? "input" : op_type + " (opset " + std::to_string(opset) + ")";
}

namespace {

llvm::Expected<ir::Graph> import_model(OnnxModel model, llvm::StringRef path,
                                       const ImportOptions& options,
                                       std::vector<std::string>& notes) {
  if (llvm::Error error = fix_input_shapes(model.graph, path, options.input_shapes, options.dims)) {
    // If the model is refused in any case, its dims need not be given.
    UnsupportedNodes unsupported = unsupported_inputs(model.graph);
    if (unsupported.empty()) return error;
    llvm::consumeError(std::move(error));
    return unsupported.error(path);
  }
  if (llvm::Error error = fix_input_values(model.graph, options.input_values)) return error;
  if (llvm::Error error = Inliner(model).expand_functions(model.graph.nodes)) return error;
  CODL_ASSIGN_OR_RETURN(importer, Importer::create(model.graph));
  importer.rounds_to_halves = options.rounds_to_halves;
  importer.graph().file_float_bytes = model.float_bytes;
  auto graph = Import(model, importer).run(path);
  for (const std::string& note : importer.notes())
    if (!llvm::is_contained(notes, note)) notes.push_back(note);
  if (graph)
    if (llvm::Error error = keep_states(*graph, options.states)) return error;
  return graph;
}

}  // namespace

llvm::Expected<std::vector<ir::Graph>> import_each(llvm::StringRef bytes, llvm::StringRef path,
                                                   llvm::ArrayRef<ImportOptions> options,
                                                   std::vector<std::string>* notes) {
  // read_onnx() catches protobuf's exceptions. The rest come from lack of memory, for a model whose
  // weights or folded constants do not fit.
  try {
    CODL_ASSIGN_OR_RETURN(model, read_onnx(bytes, path));
    if (options.front().on_read) options.front().on_read();
    if (model.opset > kNewestOpset)
      model.notes.push_back(
          llvm::formatv("opset {0} is newer than {1}: operators are read as in {1}", model.opset,
                        kNewestOpset)
              .str());
    if (has_doubles(model))
      model.notes.push_back(
          "values of type DOUBLE: casts, moves, reductions and functions of single elements "
          "are f64, all other operators f32");
    std::vector<std::string> ignored;
    std::vector<std::string>& all_notes = notes != nullptr ? *notes : ignored;
    all_notes.insert(all_notes.end(), model.notes.begin(), model.notes.end());
    std::vector<ir::Graph> graphs;
    for (const ImportOptions& one : options.drop_back()) {
      CODL_ASSIGN_OR_RETURN(graph, import_model(OnnxModel(model), path, one, all_notes));
      graphs.push_back(std::move(graph));
    }
    CODL_ASSIGN_OR_RETURN(last, import_model(std::move(model), path, options.back(), all_notes));
    for (const ir::Graph& graph : graphs)
      if (llvm::Error error = expect_equal_states(graph, last)) return error;
    graphs.push_back(std::move(last));
    return graphs;
  } catch (const std::bad_alloc&) {
    return memory_error(path);
  }
}

llvm::Expected<ir::Graph> import_onnx(llvm::StringRef bytes, llvm::StringRef path,
                                      const ImportOptions& options,
                                      std::vector<std::string>* notes) {
  CODL_ASSIGN_OR_RETURN(graphs, import_each(bytes, path, llvm::makeArrayRef(options), notes));
  return std::move(graphs.front());
}

}  // namespace codl::compiler
