// ONNX bytes to graph. With onnx_node.h the only code that sees protobuf.
#pragma once

#include "compiler/ir/graph.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Imports a serialized ModelProto, opset 7 to 18. `path` is for messages.
//
// Errors: Input (not a model, types or shapes that contradict each other, a missing initializer, a
// dimension that is not static), Unsupported (operator, opset, attribute or dtype; every offending
// node is named in one message). Nothing is thrown.
llvm::Expected<ir::Graph> import_onnx(llvm::StringRef bytes, llvm::StringRef path);

}  // namespace codl::compiler
