// A graph back as an ONNX model.
#pragma once

#include <string>

#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// The bytes of a model of opset 20 that computes what the graph does: plain, as it is in front of
// assign_layouts. Inputs and outputs keep their names. Unsupported error, naming all of them, for
// operators that no rule writes; Input error if the model is beyond what protobuf holds (2 GiB).
llvm::Expected<std::string> write_onnx(const ir::Graph& graph);

// The Unsupported error of write_onnx(), and nothing is written.
llvm::Error check_onnx(const ir::Graph& graph);

}  // namespace codl::compiler
