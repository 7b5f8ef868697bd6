// A pass is a name and a function that changes the graph. passes.h lists them; pass_order.h orders
// them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {

struct Pass {
  llvm::StringRef name;  // as in --dump=
  llvm::Error (*run)(ir::Graph& graph);
};

struct PassOptions {
  std::string dump_after;  // pass name, or empty
  llvm::raw_ostream* dump_to = nullptr;
  std::vector<std::string> skipped = {};  // names of passes that do not run
  // Is called with the graph before the first pass (with an empty name) and after each; may be
  // null.
  std::function<llvm::Error(llvm::StringRef pass, const ir::Graph& graph)> on_graph = {};
};

// Runs the passes in order; verifies the graph after each, prints it after `dump_after`.
llvm::Error run_passes(ir::Graph& graph, llvm::ArrayRef<Pass> passes, const PassOptions& options);

}  // namespace codl::compiler
