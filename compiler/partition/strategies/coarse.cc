// Places each node whole on one processor and changes the processor where that pays for the
// transfer. This is the other extreme of the founding study, and what frameworks do that fall back
// from a GPU.
#include <array>
#include <iterator>

#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {
namespace {

struct Reached {
  double us = 0;
  bool is_reached = false;
  size_t before = 0;  // the place of the node before
};

// Lists the places of a whole node. The first is taken among equals.
const ValueSplit kWholePlaces[] = {ValueSplit::on_cpu(), ValueSplit::on_gpu(Layout::Image2d),
                                   ValueSplit::on_gpu(Layout::Nhwc)};
size_t place_of(const Segment& segment) {
  if (segment.output.assignment == Assignment::Cpu) return 0;
  return segment.output.maps == Layout::Image2d ? 1 : 2;
}
using Places = std::array<Reached, std::size(kWholePlaces)>;

std::optional<Segment> node_at(const CostModel& costs, ir::NodeId node, size_t place) {
  const Processor processor = place == 0 ? Processor::Cpu : Processor::Gpu;
  auto segment = costs.whole(node, processor, kWholePlaces[place].maps);
  if (segment && place_of(*segment) != place) return std::nullopt;  // it is offered as what it is
  return segment;
}

}  // namespace

llvm::Expected<PartitionPlan> best_whole_nodes(const CostModel& costs, bool must_use_gpu) {
  const auto node_count = static_cast<ir::NodeId>(costs.graph().nodes().size());
  std::vector<Places> states(node_count + 1);  // indexed by nodes done and the last one's place
  states[0][0].is_reached = true;              // the inputs are the application's
  for (ir::NodeId node = 0; node < node_count; ++node)
    for (size_t to = 0; to < std::size(kWholePlaces); ++to) {
      if (to == 0 && must_use_gpu && costs.whole(node, Processor::Gpu)) continue;
      const auto segment = node_at(costs, node, to);
      if (!segment) continue;
      Reached& end = states[node + 1][to];
      const auto reads = costs.outside_reads(*segment);
      for (size_t from = 0; from < std::size(kWholePlaces); ++from) {
        if (!states[node][from].is_reached) continue;
        const double us = states[node][from].us + segment->compute_us +
                          costs.transfer_us(kWholePlaces[from], reads);
        if (!end.is_reached || us < end.us) end = {us, true, from};
      }
    }
  const Reached* last = nullptr;
  for (const Reached& end : states[node_count])
    if (end.is_reached && (last == nullptr || end.us < last->us)) last = &end;
  if (last == nullptr) return prefer_processor(costs, Processor::Cpu);  // names what is missing
  std::vector<size_t> chosen(node_count);
  size_t at = static_cast<size_t>(last - states[node_count].data());
  for (ir::NodeId node = node_count; node-- > 0;) {
    chosen[node] = at;
    at = states[node + 1][at].before;
  }
  PartitionPlan plan;
  for (ir::NodeId node = 0; node < node_count; ++node)
    append_segment(plan, std::move(*node_at(costs, node, chosen[node])));
  return plan;
}

llvm::Expected<PartitionPlan> strategy_coarse(const CostModel& costs, const PartitionOptions&) {
  return best_whole_nodes(costs, /*must_use_gpu=*/false);
}

}  // namespace codl::compiler
