#include "compiler/passes/pass.h"

namespace codl::compiler {

llvm::Error run_passes(ir::Graph& graph, llvm::ArrayRef<Pass> passes, const PassOptions& options) {
  if (options.on_graph)
    if (llvm::Error error = options.on_graph("", graph)) return error;
  for (const Pass& pass : passes) {
    if (llvm::is_contained(options.skipped, pass.name)) continue;
    if (llvm::Error error = pass.run(graph)) return error;
    if (llvm::Error error = ir::verify(graph, pass.name)) return error;
    if (pass.name == options.dump_after && options.dump_to != nullptr)
      *options.dump_to << ir::print(graph);
    if (options.on_graph)
      if (llvm::Error error = options.on_graph(pass.name, graph)) return error;
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
