// Makes a graph from ONNX bytes: reads them (onnx_reader), then runs one rule per node
// (import_table).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/error.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

struct ImportOptions {
  // Holds dims for inputs with open dims, by the input's name.
  llvm::StringMap<std::vector<int64_t>> input_shapes;
  // Holds numbers for open dims that have a name in the model, by that name.
  llvm::StringMap<int64_t> dims;
  // Holds elements for inputs that become constants, by the input's name, as text in the input's
  // type ("16000", "0.5", "true"). The graph no longer has these inputs.
  llvm::StringMap<std::vector<std::string>> input_values;
  // Outputs that the session keeps as inputs of its next run, as OUTPUT:INPUT.
  std::vector<std::string> states;
  // The import calls this after it has read the model's bytes for the last time, so that their
  // memory can be freed.
  std::function<void()> on_read;
  // A cast of floats to halves rounds them. If values may be held as halves anyway, it need not.
  bool rounds_to_halves = true;
};

// Holds one reason why a model is refused, and the nodes that it concerns.
struct ImportProblem {
  std::string op_type;  // qualified_name(); empty if an input of the model is refused
  int64_t opset = 0;
  std::vector<std::string> nodes;  // names of the nodes, or of the input
  std::string reason;

  std::string what() const;  // like "Conv (opset 13)"
};

// Lists all reasons why a model with operators, types ... is one that codl does not import, as an
// Unsupported error.
class ImportError : public llvm::ErrorInfo<ImportError, CompileError> {
 public:
  static char ID;
  ImportError(std::string path, std::string message, std::vector<ImportProblem> problems)
      : ErrorInfo(tools::ToolError(ExitCode::Unsupported, std::move(path), std::move(message))),
        problems_(std::move(problems)) {}

  llvm::ArrayRef<ImportProblem> problems() const { return problems_; }

 private:
  std::vector<ImportProblem> problems_;
};

// Imports a serialized ModelProto of opset kOldestOpset or newer. `path` is for messages and for
// weights in other files of its folder. Notes for the user are appended to `notes`.
//
// Errors: Input (not a model, types or shapes that contradict each other, a value that nothing
// defines, an open dimension), Unsupported (operator, opset, attribute or dtype; one message, an
// ImportError, names every offending node). Throws nothing.
llvm::Expected<ir::Graph> import_onnx(llvm::StringRef bytes, llvm::StringRef path,
                                      const ImportOptions& options = {},
                                      std::vector<std::string>* notes = nullptr);
// Does the same for each of several options, of which the first's on_read counts. The bytes are
// read once, and the graphs share the model's constants.
llvm::Expected<std::vector<ir::Graph>> import_each(llvm::StringRef bytes, llvm::StringRef path,
                                                   llvm::ArrayRef<ImportOptions> options,
                                                   std::vector<std::string>* notes);

}  // namespace codl::compiler
