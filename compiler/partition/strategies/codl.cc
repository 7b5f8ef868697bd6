// The CoDL paper's planner (MobiSys'22, Algorithm 1), on the kernels, layouts and costs of the
// profile.
//
// First each operator by itself: whole on one processor, or split along the height or the output
// channels at a tenth, where sharing (transform, map, synchronisation) and the slower processor
// take least (Eq. 2). Then, from the first operator on, chains: the next operator joins with rows
// split at a share within kDelta of the head's, as long as what the chain saves over its operators
// one by one grows (Eq. 1 counts the halo twice).
//
// It differs from the paper in one point: all operators of a chain have one share. Algorithm 1 lets
// each keep its own within kDelta, which moves rows between the processors inside a chain.
#include <algorithm>

#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {
namespace {

constexpr double kDelta = 0.3;
constexpr double kStep = 0.1;

struct Choice {
  Segment segment;
  double us = 0;  // with what sharing takes
  double gpu_share = 0;
};

// A plan of the paper's has its values on the GPU between operators, in its layout.
double us_of(const CostModel& costs, ir::NodeId first, ir::NodeId last, const Segment& segment) {
  const ValuePlace before{Placement::Gpu, costs.gpu_maps().front()};
  return segment.compute_us + costs.exchange_us(first, last, before, segment);
}

void offer(const CostModel& costs, ir::NodeId first, ir::NodeId last,
           std::optional<Segment> segment, double gpu_share, std::optional<Choice>& best) {
  if (!segment) return;
  const double us = us_of(costs, first, last, *segment);
  if (!best || us < best->us) best = Choice{std::move(*segment), us, gpu_share};
}

std::optional<Choice> best_alone(const CostModel& costs, ir::NodeId node) {
  std::optional<Choice> best;
  offer(costs, node, node, costs.whole(node, Processor::Gpu), 1, best);
  offer(costs, node, node, costs.whole(node, Processor::Cpu), 0, best);
  for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
    for (int tenth = 1; tenth < 10; ++tenth)
      offer(costs, node, node, costs.split(node, node, dim, tenth * kStep), tenth * kStep, best);
  return best;
}

std::optional<Choice> best_chain(const CostModel& costs, ir::NodeId first, ir::NodeId last,
                                 double head_share) {
  std::optional<Choice> best;
  const int steps = static_cast<int>(kDelta / kStep + 0.5);
  for (int step = -steps; step <= steps; ++step) {
    const double share = head_share + step * kStep;
    if (share > 0 && share < 1)
      offer(costs, first, last, costs.split(first, last, SplitDim::Height, share), share, best);
  }
  return best;
}

}  // namespace

llvm::Expected<PartitionPlan> strategy_codl(const CostModel& costs,
                                            const PartitionOptions& options) {
  const auto node_count = static_cast<ir::NodeId>(costs.graph().nodes().size());
  std::vector<std::optional<Choice>> alone;
  for (ir::NodeId node = 0; node < node_count; ++node) alone.push_back(best_alone(costs, node));
  if (std::any_of(alone.begin(), alone.end(), [](const auto& choice) { return !choice; }))
    return prefer_processor(costs, Processor::Cpu);  // names what is missing

  PartitionPlan plan;
  for (ir::NodeId first = 0; first < node_count;) {
    Choice kept = std::move(*alone[first]);
    const double head_share = std::clamp(kept.gpu_share, kStep, 1 - kStep);
    ir::NodeId last = first;
    double apart_us = kept.us;
    double gain_us = 0;
    while (last + 1 < node_count && last + 1 - first < static_cast<ir::NodeId>(options.max_chain)) {
      std::optional<Choice> longer = best_chain(costs, first, last + 1, head_share);
      const double longer_apart_us = apart_us + alone[last + 1]->us;
      if (!longer || longer_apart_us - longer->us <= gain_us) break;
      ++last;
      apart_us = longer_apart_us;
      gain_us = apart_us - longer->us;
      kept = std::move(*longer);
    }
    append_segment(plan, std::move(kept.segment));
    first = last + 1;
  }
  return plan;
}

}  // namespace codl::compiler
