#include "compiler/partition/optimal.h"

#include "compiler/partition/bound.h"
#include "compiler/partition/places.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

// Seeds that are polished, and the share of the budget that the first has. More seeds are of little
// use: with a large budget the search ends within 1 % of the same time from each.
constexpr size_t kPolished = 2;
constexpr double kFirstShare = 0.7;

// GPU shares of seeds that are made where plans are limited.
constexpr double kLimitedRatios[] = {0.1, 0.2, 0.3, 0.45};

struct Seed {
  PartitionPlan plan;
  int64_t predicted_ns;
};

// Whether there is a node that could be somewhere else than on the CPU.
bool has_choice(const CostModel& costs) {
  for (ir::NodeId node = 0; node < costs.graph().nodes().size(); ++node)
    if (costs.whole(node, Processor::Gpu)) return true;
  return false;
}

bool is_of_one_processor(const PartitionPlan& plan) {
  bool uses[2] = {};
  for (const NodePartition& node_partition : plan.node_partitions)
    for (const Part& part : node_partition.parts) uses[static_cast<size_t>(part.processor)] = true;
  return !(uses[0] && uses[1]);
}

// Of seeds from the best on. Where limits leave only plans of one processor, which no small change
// betters, the plan that is least beyond them comes first: polishing brings it inside.
std::vector<size_t> seeds_to_polish(llvm::ArrayRef<Seed> seeds) {
  const auto* beyond =
      llvm::find_if(seeds, [](const Seed& seed) { return !is_met(seed.predicted_ns); });
  if (beyond != seeds.begin() && beyond != seeds.end() && is_of_one_processor(seeds.front().plan))
    return {static_cast<size_t>(beyond - seeds.begin()), 0};
  std::vector<size_t> first;
  for (size_t i = 0; i < std::min(kPolished, seeds.size()); ++i) first.push_back(i);
  return first;
}

}  // namespace

llvm::Expected<Optimum> find_optimum(const CostModel& costs, const PartitionOptions& options,
                                     JudgePlan judge, llvm::ArrayRef<PartitionPlan> more_seeds) {
  CODL_ASSIGN_OR_RETURN(places, ForcedPlaces::create(costs, options.limits.places));
  std::vector<Seed> seeds;
  const auto add = [&](PartitionPlan plan) -> llvm::Error {
    if (llvm::Error error = places.apply(plan)) return error;
    CODL_ASSIGN_OR_RETURN(ns, judge(plan));
    seeds.push_back({std::move(plan), ns});
    return llvm::Error::success();
  };
  for (const PartitionPlan& plan : more_seeds)
    if (llvm::Error error = add(plan)) return error;
  for (const NamedStrategy& strategy : named_strategies()) {
    CODL_ASSIGN_OR_RETURN(plan, strategy.run(costs, options));
    if (llvm::Error error = add(std::move(plan))) return error;
  }
  // Those of `segments` balance the processors. With less for the GPU a plan may keep a limit that
  // no other seed but the CPU alone does.
  if (options.limits.limit_plans() && costs.profile().has_gpu)
    for (const double ratio : kLimitedRatios) {
      PartitionOptions forced = options;
      forced.ratio = ratio;
      CODL_ASSIGN_OR_RETURN(plan, strategy_segments(costs, forced));
      plan.not_split_as_forced.clear();
      if (llvm::Error error = add(std::move(plan))) return error;
    }
  llvm::stable_sort(seeds,
                    [](const Seed& a, const Seed& b) { return a.predicted_ns < b.predicted_ns; });
  Optimum best{seeds.front().plan, seeds.front().predicted_ns, static_cast<uint32_t>(seeds.size()),
               lower_bound_us(costs, std::max(options.max_chain, kMaxChainLength))};
  const uint32_t all = options.search_budget.value_or(kSearchBudget);
  if (!has_choice(costs) || all <= best.evaluations) return best;
  const uint32_t budget = all - best.evaluations;
  const std::vector<size_t> polished_seeds = seeds_to_polish(seeds);
  for (size_t i = 0; i < polished_seeds.size(); ++i) {
    const double share = i == 0 ? kFirstShare : 1 - kFirstShare;
    const auto most = static_cast<uint32_t>(share * budget);
    if (most == 0) continue;
    const PartitionPlan& seed = seeds[polished_seeds[i]].plan;
    const auto judge_placed = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
      return places.are_kept(plan) ? judge(plan) : llvm::Expected<int64_t>(INT64_MAX);
    };
    CODL_ASSIGN_OR_RETURN(polished, polish(costs, options, seed, most, judge_placed));
    best.evaluations += polished.evaluations;
    if (polished.predicted_ns >= best.predicted_ns) continue;
    best.plan = std::move(polished.plan);
    best.predicted_ns = polished.predicted_ns;
  }
  return best;
}

}  // namespace codl::compiler
