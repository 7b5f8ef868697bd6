// ONNX bytes to graph: read (onnx_reader), then one rule per node (import_table).
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
  // Dims of inputs that the model leaves open, by the input's name.
  llvm::StringMap<std::vector<int64_t>> input_shapes;
  // Elements of inputs that become constants, by the input's name, as text in the input's type
  // ("16000", "0.5", "true"). The graph no longer has these inputs.
  llvm::StringMap<std::vector<std::string>> input_values;
  // Called once the model's bytes have been read for the last time: their memory may be given back.
  std::function<void()> on_read;
};

// One reason why a model is refused, and where it holds.
struct ImportProblem {
  std::string op_type;  // qualified_name(); empty: an input of the model
  int64_t opset = 0;
  std::vector<std::string> nodes;  // names; of an input: its own
  std::string reason;

  std::string what() const;  // "Conv (opset 13)"
};

// The Unsupported error of a model with operators, types ... that are not imported: all reasons.
class ImportError : public llvm::ErrorInfo<ImportError, CompileError> {
 public:
  static char ID;
  ImportError(std::string path, std::string message, std::vector<ImportProblem> problems)
      : ErrorInfo(ErrorKind::Unsupported, std::move(path), std::move(message)),
        problems_(std::move(problems)) {}

  llvm::ArrayRef<ImportProblem> problems() const { return problems_; }

 private:
  std::vector<ImportProblem> problems_;
};

// Imports a serialized ModelProto of opset kOldestOpset or newer. `path` is for messages and for
// weights in other files of its folder. What a user may want to know about the import is appended
// to `notes`.
//
// Errors: Input (not a model, types or shapes that contradict each other, a value that nothing
// defines, a dimension that is open), Unsupported (operator, opset, attribute or dtype; every
// offending node is named in one message, an ImportError). Nothing is thrown.
llvm::Expected<ir::Graph> import_onnx(llvm::StringRef bytes, llvm::StringRef path,
                                      const ImportOptions& options = {},
                                      std::vector<std::string>* notes = nullptr);

}  // namespace codl::compiler
