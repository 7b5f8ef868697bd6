#include "compiler/partition/search/work_beside.h"

#include <algorithm>

#include "llvm/ADT/BitVector.h"

namespace codl::compiler {

double least_whole_us(const CostModel& costs, ir::NodeId node) {
  std::optional<double> least_us;
  const auto offer = [&](const std::optional<Segment>& segment) {
    if (segment) least_us = std::min(least_us.value_or(segment->compute_us), segment->compute_us);
  };
  for (Processor processor : kProcessors)
    for (Form form : costs.forms_on(processor)) offer(costs.whole(node, processor, form));
  return least_us.value_or(0);
}

std::vector<double> work_beside_us(const CostModel& costs) {
  const ir::Graph& graph = costs.graph();
  const size_t count = graph.nodes().size();
  std::vector<double> own_us(count);
  double all_us = 0;
  for (ir::NodeId node = 0; node < count; ++node)
    all_us += own_us[node] = least_whole_us(costs, node);
  // Holds for each node those it needs. 3 MB for 5,000 nodes.
  std::vector<llvm::BitVector> needed(count, llvm::BitVector(static_cast<unsigned>(count)));
  std::vector<double> beside_us(count);
  for (ir::NodeId node = 0; node < count; ++node) {
    for (ir::ValueId input : graph.node(node).inputs) {
      const ir::NodeId maker = graph.value(input).producer;
      if (maker == ir::kNoId) continue;
      needed[node] |= needed[maker];
      needed[node].set(maker);
    }
    beside_us[node] += all_us - own_us[node];
    for (unsigned before : needed[node].set_bits()) {
      beside_us[node] -= own_us[before];
      beside_us[before] -= own_us[node];
    }
  }
  return beside_us;
}

}  // namespace codl::compiler
