#include "compiler/report/plain_loops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {

PlainLoops plain_loops(const Variant& variant) {
  PlainLoops loops;
  for (const Step& step : variant.steps) {
    if (step.kernel == nullptr || !step.kernel->is_reference()) continue;
    PlainNode node;
    node.name = step.name;
    node.op = step.kernel->op;
    node.dtype = variant.tensors[step.operands.front()].shape.dtype;
    node.predicted_us = step.predicted_us;
    if (variant.predicted_us > 0) node.share = step.predicted_us / variant.predicted_us;
    loops.predicted_us += node.predicted_us;
    loops.share += node.share;
    loops.nodes.push_back(std::move(node));
  }
  llvm::stable_sort(loops.nodes, [](const PlainNode& a, const PlainNode& b) {
    return a.predicted_us > b.predicted_us;
  });
  return loops;
}

std::string warning(const PlainLoops& loops) {
  if (loops.share < kNotableShare) return "";
  const PlainNode& longest = loops.nodes.front();
  return llvm::formatv(
             "{0} node{1} without a fast kernel: {2:f0} % of the predicted time, {3} ({4} of {5}) "
             "{6:f0} % (--report-support lists them)",
             loops.nodes.size(), loops.nodes.size() == 1 ? "" : "s", 100 * loops.share,
             longest.name, op_info(longest.op).name, dtype_name(longest.dtype), 100 * longest.share)
      .str();
}

}  // namespace codl::compiler
