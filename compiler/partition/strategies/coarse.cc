// Subgraphs: each node whole on one processor, changing where that pays for the transfer. The other
// extreme of the founding study, and what frameworks that fall back from a GPU do.
#include <array>

#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {
namespace {

struct Reached {
  double us = 0;
  bool is_reached = false;
  Placement before = Placement::Cpu;
};

constexpr Placement kOnProcessor[] = {Placement::Cpu, Placement::Gpu};

}  // namespace

llvm::Expected<PartitionPlan> strategy_coarse(const CostModel& costs, const PartitionOptions&) {
  const auto node_count = static_cast<ir::NodeId>(costs.graph().nodes().size());
  std::vector<std::array<Reached, 2>> states(node_count +
                                             1);  // by nodes done and where the last was
  states[0][0].is_reached = true;                 // the inputs are the application's
  for (ir::NodeId node = 0; node < node_count; ++node)
    for (size_t to = 0; to < 2; ++to) {
      const auto segment = costs.whole(node, static_cast<Processor>(to));
      if (!segment) continue;
      Reached& end = states[node + 1][to];
      for (size_t from = 0; from < 2; ++from) {
        if (!states[node][from].is_reached) continue;
        const double us = states[node][from].us + segment->compute_us +
                          costs.exchange_us(node, node, kOnProcessor[from], *segment);
        if (!end.is_reached || us < end.us) end = {us, true, kOnProcessor[from]};
      }
    }
  size_t at = states[node_count][0].is_reached ? 0 : 1;
  if (!states[node_count][at].is_reached) return prefer_processor(costs, Processor::Cpu);
  if (states[node_count][1].is_reached && states[node_count][1].us < states[node_count][at].us)
    at = 1;
  std::vector<Processor> chosen(node_count);
  for (ir::NodeId node = node_count; node-- > 0;) {
    chosen[node] = static_cast<Processor>(at);
    at = states[node + 1][at].before == Placement::Cpu ? 0 : 1;
  }
  PartitionPlan plan;
  for (ir::NodeId node = 0; node < node_count; ++node)
    append_segment(plan, std::move(*costs.whole(node, chosen[node])));
  return plan;
}

}  // namespace codl::compiler
