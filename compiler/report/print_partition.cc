#include "compiler/report/print_partition.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::compiler {

std::string print_partition(const ir::Graph& graph, const PartitionPlan& plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Division& division : plan.divisions) {
    os << tools::printable(graph.node(division.node).name);
    if (division.chain >= 0) os << " chain=" << division.chain;
    for (const Part& part : division.parts) {
      os << (part.processor == Processor::Gpu ? " gpu " : " cpu ") << part.kernel->symbol;
      if (division.is_split())
        os << (division.dim == SplitDim::Height ? " rows" : " channels") << "[" << part.owned.begin
           << "," << part.owned.end << ") computed[" << part.computed.begin << ","
           << part.computed.end << ")";
      os << llvm::formatv(" {0:f1}us", part.predicted_us);
    }
    os << "\n";
  }
  return text;
}

}  // namespace codl::compiler
