#include "compiler/report/print_partition.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::compiler {

std::string print_partition(const ir::Graph& graph, const PartitionPlan& plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const NodePartition& node_partition : plan.node_partitions) {
    os << tools::printable(graph.node(node_partition.node).name);
    if (node_partition.chain >= 0) os << " chain=" << node_partition.chain;
    for (const Part& part : node_partition.parts) {
      os << (part.processor == Processor::Gpu ? " gpu " : " cpu ") << part.kernel->symbol;
      if (node_partition.is_split())
        os << (node_partition.dim == SplitDim::Height ? " rows" : " channels") << "["
           << part.owned.begin << "," << part.owned.end << ") computed[" << part.computed.begin
           << "," << part.computed.end << ")" << (part.boundary_first ? " boundary first" : "");
      os << llvm::formatv(" {0:f1}us", part.predicted_us);
    }
    os << "\n";
  }
  return text;
}

}  // namespace codl::compiler
