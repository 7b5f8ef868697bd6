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

// A session has one of each state, whatever the shapes of the other inputs. Returns an Input error
// if two graphs of a model have states of different types.
llvm::Error expect_equal_states(const ir::Graph& a, const ir::Graph& b);

}  // namespace codl::compiler
