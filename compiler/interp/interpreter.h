// Runs a graph with the plain kernels (*_ref): constant folding, and the oracle of the tests.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

using Bytes = std::vector<uint8_t>;

// One node on plain (ONNX order) operands. `inputs` are the operands' bytes, in order.
llvm::Expected<Bytes> evaluate_node(const ir::NodeView& node,
                                    llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs);

// The whole graph: inputs and outputs in the graph's order, ONNX order and dtype, whatever layouts
// the graph has. Input error if the sizes of `inputs` are not those of the graph.
llvm::Expected<std::vector<Bytes>> interpret(const ir::Graph& graph, llvm::ArrayRef<Bytes> inputs);

}  // namespace codl::compiler
