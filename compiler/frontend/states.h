// Outputs of a network that are inputs of its next run: hidden states of recurrent networks, caches
// of decoders.
#pragma once

#include <string>

#include "compiler/ir/graph.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Sets the graph's states. Each text is OUTPUT:INPUT, with names of the model, which may hold
// colons. Input errors: no such output or input, one of them twice, an output of another type than
// the input, or one whose dims depend on data.
llvm::Error keep_states(ir::Graph& graph, llvm::ArrayRef<std::string> texts);

}  // namespace codl::compiler
