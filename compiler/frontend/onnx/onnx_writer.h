// Writes a graph as an ONNX model.
#pragma once

#include <string>

#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Returns the bytes of a model of opset 20 that computes the same as the graph, which must be
// plain, as it is before assign_layouts. Inputs and outputs keep their names. Rounding to 8 bits is
// QuantizeLinear and DequantizeLinear; weights that find_grids found on grids are bytes. Returns an
// Unsupported error that names all operators that no rule writes, or an Input error if the model is
// beyond protobuf's limit (2 GiB).
llvm::Expected<std::string> write_onnx(const ir::Graph& graph);

// Returns write_onnx()'s Unsupported error, and writes nothing.
llvm::Error check_onnx(const ir::Graph& graph);

}  // namespace codl::compiler
