// Finds the least predicted time over all ways to cut the graph's order into segments, each whole
// on one processor, split along one dim, or a chain split along one, with maps in each of their
// forms: dynamic programming over (nodes done, place of the last segment).
//
// Approximations, which polishing on the simulator (polish.h) makes up for: every value a segment
// reads is taken to lie where the segment just before it left its values, and both processors wait
// for each other between segments.
#include <algorithm>
#include <array>
#include <limits>

#include "compiler/partition/split_geometry.h"
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {
namespace {

// Counts placements, each with every pair of forms.
constexpr size_t kPlaceCount = 4 * kFormCounts[0] * kFormCounts[1];
size_t state_of(const ValueSplit& place) {
  size_t state = static_cast<size_t>(place.assignment);
  for (Processor processor : kProcessors) {
    const size_t at = index_of(processor);
    state = state * kFormCounts[at] + index_of(processor, place.forms[at]);
  }
  return state;
}
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// These ratios around the balanced one are tried; CoDL's grid has steps of 0.1.
constexpr double kRatioSteps[] = {-0.1, 0.0, 0.1};

struct State {
  double us = kInfinity;
  Segment segment;               // that ends here
  ir::NodeId first = ir::kNoId;  // first node of that segment
  size_t before = 0;             // place of the segment before it
};

class Search {
 public:
  Search(const CostModel& costs, const PartitionOptions& options)
      : costs_(costs),
        options_(options),
        node_count_(static_cast<ir::NodeId>(costs.graph().nodes().size())) {
    states_.resize(node_count_ + 1);
    states_[0][state_of(ValueSplit{})].us = 0;  // the inputs are the application's
  }

  llvm::Expected<PartitionPlan> run() {
    for (ir::NodeId first = 0; first < node_count_; ++first) extend_from(first);
    if (best_end() == nullptr)
      return prefer_processor(costs_, Processor::Cpu);  // names what is missing
    return collect();
  }

 private:
  bool can_split_as_forced(ir::NodeId node) const {
    return std::any_of(std::begin(kDims), std::end(kDims), [&](SplitDim dim) {
      return is_allowed(dim) &&
             costs_.split(node, node, dim, options_.ratio.value_or(0.5)).has_value();
    });
  }
  bool is_allowed(SplitDim dim) const {
    return options_.split_dim == SplitDim::None || options_.split_dim == dim;
  }

  void extend_from(ir::NodeId first) {
    const bool must_split = options_.forces_split() && can_split_as_forced(first);
    if (!must_split) {
      for (Processor processor : kProcessors)
        for (Form form : costs_.forms_on(processor))
          if (auto segment = costs_.whole(first, processor, form))
            offer(first, first, std::move(*segment));
    }
    for (SplitDim dim : kDims) {
      if (!is_allowed(dim)) continue;
      for (ir::NodeId last = first;
           last < node_count_ && last < first + static_cast<uint32_t>(options_.max_chain); ++last)
        if (!offer_splits(first, last, dim)) break;
    }
  }

  // Returns false if [first, last] cannot be split along dim at any ratio: neither can a longer
  // run. For channels the tried ratios show that; rows may hang together only further on.
  bool offer_splits(ir::NodeId first, ir::NodeId last, SplitDim dim) {
    if (!costs_.split_rule(last, dim)) return false;
    bool has_split = dim == SplitDim::Height;
    for (const FormPair& forms : costs_.form_pairs()) {
      if (options_.ratio) {
        has_split |= offer_split(first, last, dim, *options_.ratio, forms);
        continue;
      }
      const std::optional<double> balanced = costs_.balanced_ratio(first, last, forms);
      if (!balanced) return false;
      for (double step : kRatioSteps)
        has_split |= offer_split(first, last, dim, std::clamp(*balanced + step, 0.0, 1.0), forms);
    }
    return has_split;
  }

  bool offer_split(ir::NodeId first, ir::NodeId last, SplitDim dim, double ratio,
                   const FormPair& forms) {
    auto segment = costs_.split(first, last, dim, ratio, forms);
    if (!segment) return false;
    offer(first, last, std::move(*segment));
    return true;
  }

  void offer(ir::NodeId first, ir::NodeId last, Segment segment) {
    State& end = states_[last + 1][state_of(segment.output)];
    std::optional<CostModel::OutsideReads> reads;
    for (size_t before = 0; before < kPlaceCount; ++before) {
      const double us_before = states_[first][before].us;
      if (us_before + segment.compute_us >= end.us) continue;
      if (!reads) reads = costs_.outside_reads(segment);
      const double us = us_before + segment.compute_us +
                        costs_.transfer_us(states_[first][before].segment.output, *reads);
      if (us >= end.us) continue;  // ties keep the first found: a fixed order
      end = {us, segment, first, before};
    }
  }

  const State* best_end() const {
    const auto& ends = states_[node_count_];
    const auto best = std::min_element(ends.begin(), ends.end(),
                                       [](const State& a, const State& b) { return a.us < b.us; });
    return best->us < kInfinity ? &*best : nullptr;
  }

  PartitionPlan collect() const {
    std::vector<const State*> path;
    const State* state = best_end();
    while (state->first != ir::kNoId) {
      path.push_back(state);
      state = &states_[state->first][state->before];
    }
    PartitionPlan plan;
    for (auto it = path.rbegin(); it != path.rend(); ++it) append_segment(plan, (*it)->segment);
    if (options_.forces_split()) {
      for (const NodePartition& node_partition : plan.node_partitions)
        if (!node_partition.is_split()) plan.not_split_as_forced.push_back(node_partition.node);
    }
    return plan;
  }

  static constexpr SplitDim kDims[] = {SplitDim::Height, SplitDim::OutputChannel};

  const CostModel& costs_;
  const PartitionOptions& options_;
  const ir::NodeId node_count_;
  std::vector<std::array<State, kPlaceCount>> states_;  // indexed by nodes done and place
};

}  // namespace

llvm::Expected<PartitionPlan> strategy_segments(const CostModel& costs,
                                                const PartitionOptions& options) {
  return Search(costs, options).run();
}

}  // namespace codl::compiler
