// ONNX bytes to graph: read (onnx_model), then one rule per node (import_table).
#pragma once

#include "compiler/ir/graph.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Imports a serialized ModelProto, opset 7 to 18. `path` is for messages.
//
// Errors: Input (not a model, types or shapes that contradict each other, a value that nothing
// defines, a dimension that is not static), Unsupported (operator, opset, attribute or dtype; every
// offending node is named in one message). Nothing is thrown.
llvm::Expected<ir::Graph> import_onnx(llvm::StringRef bytes, llvm::StringRef path);

}  // namespace codl::compiler
