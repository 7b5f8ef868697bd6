#include "compiler/passes/pass.h"
#include "compiler/support/error.h"

namespace codl::compiler {

llvm::Error run_passes(ir::Graph& graph, llvm::ArrayRef<Pass> passes, const PassOptions& options) {
  auto has_name = [&](const Pass& pass) { return pass.name == options.dump_after; };
  if (!options.dump_after.empty() && llvm::none_of(passes, has_name)) {
    std::string names;
    for (const Pass& pass : passes) names += (names.empty() ? "" : ", ") + pass.name.str();
    return input_error("--dump-after", "expected one of {0}, found '{1}'", names,
                       options.dump_after);
  }
  if (options.on_graph)
    if (llvm::Error error = options.on_graph("", graph)) return error;
  for (const Pass& pass : passes) {
    if (options.inserted && pass.name == options.inserted_before) {
      if (llvm::Error error = options.inserted(graph)) return error;
      if (llvm::Error error = ir::verify(graph, "inserted pass")) return error;
    }
    if (llvm::Error error = pass.run(graph)) return error;
    if (llvm::Error error = ir::verify(graph, pass.name)) return error;
    if (has_name(pass) && options.dump_to != nullptr) *options.dump_to << ir::print(graph);
    if (options.on_graph)
      if (llvm::Error error = options.on_graph(pass.name, graph)) return error;
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
