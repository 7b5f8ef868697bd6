#include "compiler/frontend/onnx_import.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <queue>

#include "compiler/frontend/importer.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Nodes in an order in which each stands behind what it reads: the file's order where that does,
// and nearest to it otherwise (some exporters do not sort). Errors: Input (a value that nothing
// defines, a cycle).
llvm::Expected<std::vector<size_t>> topological_order(const OnnxModel& model,
                                                      const Importer& importer) {
  llvm::StringMap<size_t> producer;
  for (size_t i = 0; i < model.nodes.size(); ++i)
    for (const std::string& output : model.nodes[i].outputs)
      if (!output.empty()) producer[output] = i;

  std::vector<std::vector<size_t>> readers(model.nodes.size());
  std::vector<size_t> open_inputs(model.nodes.size(), 0);
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    for (const std::string& input : model.nodes[i].inputs) {
      if (input.empty() || importer.is_defined(input)) continue;
      const auto found = producer.find(input);
      if (found == producer.end())
        return input_error(model.nodes[i].name, "expected input '{0}' to be defined, found nothing",
                           input);
      readers[found->second].push_back(i);
      ++open_inputs[i];
    }
  }

  std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>> ready;
  for (size_t i = 0; i < model.nodes.size(); ++i)
    if (open_inputs[i] == 0) ready.push(i);
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (size_t reader : readers[node])
      if (--open_inputs[reader] == 0) ready.push(reader);
  }
  if (order.size() != model.nodes.size()) {
    const auto stuck = std::find_if(open_inputs.begin(), open_inputs.end(),
                                    [](size_t count) { return count != 0; });
    return input_error(model.nodes[stuck - open_inputs.begin()].name,
                       "expected a graph without cycles, found one behind or through this node");
  }
  return order;
}

// All that codl cannot import, gathered over the whole model: a user wants the list, not the first.
// Nodes with the same operator and reason are named together.
class UnsupportedNodes {
 public:
  void add(const std::string& what, const std::string& reason, const std::string& name) {
    for (Group& group : groups_)
      if (group.what == what && group.reason == reason) {
        group.names += ", " + name;
        return;
      }
    groups_.push_back({what, reason, name});
  }
  bool empty() const { return groups_.empty(); }

  llvm::Error error(llvm::StringRef path) const {
    std::string text = "expected a model of operators that codl imports (codlc --list-ops), found";
    for (size_t i = 0; i < groups_.size(); ++i)
      text += (i == 0 ? " " : "; ") + groups_[i].what + " [" + groups_[i].names +
              "]: " + groups_[i].reason;
    return make_error(ErrorKind::Unsupported, path, std::move(text));
  }

 private:
  struct Group {
    std::string what;
    std::string reason;
    std::string names;
  };
  std::vector<Group> groups_;
};

class Import {
 public:
  Import(const OnnxModel& model, Importer& importer) : model_(model), importer_(importer) {
    for (const OnnxNode& node : model.nodes)
      for (const std::string& input : node.inputs) read_names_.insert(input);
    for (const OnnxValueInfo& output : model.outputs) read_names_.insert(output.name);
  }

  llvm::Expected<ir::Graph> run(llvm::StringRef path) {
    CODL_ASSIGN_OR_RETURN(order, topological_order(model_, importer_));
    for (const OnnxValueInfo& input : model_.inputs)
      if (!input.problem.empty()) unsupported_.add("input", input.problem, input.name);
    for (size_t i : order)
      if (llvm::Error error = import_node(model_.nodes[i])) return error;
    if (!unsupported_.empty()) return unsupported_.error(path);
    if (llvm::Error error = importer_.finish(model_)) return error;
    return std::move(importer_.graph());
  }

 private:
  llvm::Error import_node(const OnnxNode& node) {
    // Until a rule says what it is.
    importer_.bind_unavailable(node);
    const ImportRow* row = find_row(node);
    if (row == nullptr) return llvm::Error::success();
    if (!importer_.is_available(node)) return llvm::Error::success();
    return llvm::handleErrors(run_rule(*row, node),
                              [&](std::unique_ptr<CompileError> error) -> llvm::Error {
                                if (error->kind() != ErrorKind::Unsupported)
                                  return llvm::Error(std::move(error));
                                add_unsupported(node, error->text().str());
                                importer_.bind_unavailable(node);
                                return llvm::Error::success();
                              });
  }

  llvm::Error run_rule(const ImportRow& row, const OnnxNode& node) {
    if (llvm::Error error = row.rule(node, importer_)) return error;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (read_names_.contains(node.outputs[i]) && !importer_.is_usable(node.outputs[i]))
        return unsupported_error(node.name, "expected output {0} not to be read, found a reader",
                                 i);
    return llvm::Error::success();
  }

  // Null, with a note, if the operator is not imported.
  const ImportRow* find_row(const OnnxNode& node) {
    if (!node.domain.empty()) {
      add_unsupported(
          node, "expected an operator of the ONNX domain, found domain '" + node.domain + "'");
      return nullptr;
    }
    bool is_known = false;
    for (const ImportRow& row : import_table()) {
      if (row.op_type != node.op_type) continue;
      is_known = true;
      if (row.oldest_opset <= node.opset && node.opset <= row.newest_opset) return &row;
    }
    add_unsupported(node, is_known ? "not imported at this opset" : "operator not imported");
    return nullptr;
  }

  void add_unsupported(const OnnxNode& node, const std::string& reason) {
    unsupported_.add(node.op_type + " (opset " + std::to_string(node.opset) + ")", reason,
                     node.name);
  }

  const OnnxModel& model_;
  Importer& importer_;
  llvm::StringSet<> read_names_;
  UnsupportedNodes unsupported_;
};

}  // namespace

llvm::Expected<ir::Graph> import_onnx(llvm::StringRef bytes, llvm::StringRef path) {
  // read_onnx() catches what protobuf throws; what is left is memory, asked for by a model whose
  // weights or folded constants do not fit.
  try {
    CODL_ASSIGN_OR_RETURN(model, read_onnx(bytes, path));
    CODL_ASSIGN_OR_RETURN(importer, Importer::create(model));
    return Import(model, importer).run(path);
  } catch (const std::bad_alloc&) {
    return make_error(ErrorKind::Limit, path,
                      "expected a model that fits in memory, found none left");
  }
}

}  // namespace codl::compiler
