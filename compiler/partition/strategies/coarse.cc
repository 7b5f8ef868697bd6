// Places each node whole on one processor and changes the processor where that pays for the
// transfer. This is the other extreme of the founding study, and what frameworks do that fall back
// from a GPU.
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {
namespace {

struct Reached {
  double us = 0;
  bool is_reached = false;
  size_t before = 0;  // the place of the node before
};

// Lists the places of a whole node. The first is taken among equals.
std::vector<ValueSplit> whole_places(const CostModel& costs) {
  std::vector<ValueSplit> places;
  for (Form form : costs.forms_on(Processor::Cpu)) places.push_back(ValueSplit::on_cpu(form));
  for (Form form : costs.forms_on(Processor::Gpu)) places.push_back(ValueSplit::on_gpu(form));
  return places;
}

std::optional<Segment> node_at(const CostModel& costs, ir::NodeId node, const ValueSplit& place) {
  const Processor processor = processor_of(place.assignment);
  auto segment = costs.whole(node, processor, place.forms[index_of(processor)]);
  if (segment && !(segment->output == place)) return std::nullopt;  // it is offered as what it is
  return segment;
}

}  // namespace

llvm::Expected<PartitionPlan> best_whole_nodes(const CostModel& costs, bool must_use_gpu) {
  const auto node_count = static_cast<ir::NodeId>(costs.graph().nodes().size());
  const std::vector<ValueSplit> places = whole_places(costs);
  // Indexed by nodes done and the last one's place.
  std::vector<std::vector<Reached>> states(node_count + 1, std::vector<Reached>(places.size()));
  states[0][0].is_reached = true;  // the inputs are the application's
  for (ir::NodeId node = 0; node < node_count; ++node)
    for (size_t to = 0; to < places.size(); ++to) {
      if (places[to].assignment == Assignment::Cpu && must_use_gpu &&
          costs.whole(node, Processor::Gpu))
        continue;
      const auto segment = node_at(costs, node, places[to]);
      if (!segment) continue;
      Reached& end = states[node + 1][to];
      const auto reads = costs.outside_reads(*segment);
      for (size_t from = 0; from < places.size(); ++from) {
        if (!states[node][from].is_reached) continue;
        const double us =
            states[node][from].us + segment->compute_us + costs.transfer_us(places[from], reads);
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
    append_segment(plan, std::move(*node_at(costs, node, places[chosen[node]])));
  return plan;
}

llvm::Expected<PartitionPlan> strategy_coarse(const CostModel& costs, const PartitionOptions&) {
  return best_whole_nodes(costs, /*must_use_gpu=*/false);
}

}  // namespace codl::compiler
