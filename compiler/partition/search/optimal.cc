#include "compiler/partition/search/optimal.h"

#include <algorithm>

#include "compiler/partition/search/runs.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/partition/user_places.h"
#include "compiler/support/error.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

// Seeds are polished with these shares of the budget. Two have it all: with a large budget the
// search ends within 1 % of the same time from each. On small graphs all plans around a seed are
// known long before, and the best one may be far from those of the best seeds, so the other seeds
// get what is left.
constexpr double kFirstShare = 0.7;
constexpr double kOtherShare = 0.1;

// Where plans are limited, seeds are made with these GPU shares.
constexpr double kLimitedRatios[] = {0.1, 0.2, 0.3, 0.45};

// With weighted limits, the weight rises like this, and each weight gets this share of the budget.
// Exceeding a limit by a tenth first counts as much as 5 % of the objective, in the end as 40 %.
constexpr double kLimitWeights[] = {0.5, 1, 2, 4};
constexpr double kWeightShare = 0.15;

struct Seed {
  PartitionPlan plan;
  int64_t predicted_ns;
};

// Returns true if some node could be elsewhere than on the CPU.
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

// Sorts the plans from the best on, each once. If limits leave only plans of one processor, which
// no small change improves, the plan that is least beyond the limits comes first: polishing brings
// it inside.
void sort_seeds(std::vector<Seed>& seeds) {
  llvm::stable_sort(seeds,
                    [](const Seed& a, const Seed& b) { return a.predicted_ns < b.predicted_ns; });
  llvm::DenseSet<uint64_t> keys;
  llvm::erase_if(seeds,
                 [&](const Seed& seed) { return !keys.insert(key_of(runs_of(seed.plan))).second; });
  const auto beyond =
      llvm::find_if(seeds, [](const Seed& seed) { return !is_met(seed.predicted_ns); });
  if (beyond != seeds.end() && is_of_one_processor(seeds.front().plan))
    std::rotate(seeds.begin(), beyond, beyond + 1);
}

}  // namespace

llvm::Expected<Optimum> find_optimum(const CostModel& costs, const PartitionOptions& options,
                                     JudgePlan judge, llvm::ArrayRef<PartitionPlan> more_seeds,
                                     const JudgeHelp& help) {
  CODL_ASSIGN_OR_RETURN(places, UserPlaces::create(costs, options.limits.places));
  std::vector<Seed> seeds;
  Optimum best;
  const auto add = [&](PartitionPlan plan) -> llvm::Error {
    if (seeds.size() == options.search_budget) return llvm::Error::success();
    if (llvm::Error error = places.apply(plan)) return error;
    if (options.boundary_first == BoundaryFirst::Always) set_boundary_first(plan, true);
    CODL_ASSIGN_OR_RETURN(ns, judge(plan));
    ++best.evaluations;
    seeds.push_back({std::move(plan), ns});
    return llvm::Error::success();
  };
  for (const PartitionPlan& plan : more_seeds)
    if (llvm::Error error = add(plan)) return error;
  // Strategies that choose between floats and halves take as long as a whole search in one of them.
  const bool has_seeds = costs.chooses_precision() && !more_seeds.empty();
  for (const NamedStrategy& strategy : named_strategies()) {
    if (!strategy.is_seed() || has_seeds) continue;
    CODL_ASSIGN_OR_RETURN(plan, strategy.run(costs, options));
    if (llvm::Error error = add(std::move(plan))) return error;
  }
  // The plans of `segments` balance the processors. With less work for the GPU a plan may keep a
  // limit that no other seed except the CPU alone keeps.
  if (options.limits.limit_plans() && costs.profile().has_gpu && !has_seeds)
    for (const double ratio : kLimitedRatios) {
      PartitionOptions forced = options;
      forced.ratio = ratio;
      CODL_ASSIGN_OR_RETURN(plan, strategy_segments(costs, forced));
      plan.not_split_as_forced.clear();
      if (llvm::Error error = add(std::move(plan))) return error;
    }
  const Seed& first = *std::min_element(
      seeds.begin(), seeds.end(),
      [](const Seed& a, const Seed& b) { return a.predicted_ns < b.predicted_ns; });
  best.plan = first.plan;
  best.predicted_ns = first.predicted_ns;
  const uint32_t all = options.search_budget;
  if (!has_choice(costs) || all <= best.evaluations) return best;
  uint32_t budget = all - best.evaluations;
  const auto is_placed = [&](const PartitionPlan& plan) { return places.are_kept(plan); };
  if (help.weighted) {
    const auto most = static_cast<uint32_t>(kWeightShare * budget);
    PartitionPlan plan = seeds.front().plan;
    for (const double weight : kLimitWeights) {
      if (most == 0 || best.evaluations + most >= all) break;
      CODL_ASSIGN_OR_RETURN(polished,
                            polish(
                                costs, options, plan, most,
                                [&](const PartitionPlan& changed) -> llvm::Expected<int64_t> {
                                  return is_placed(changed) ? help.weighted(changed, weight)
                                                            : llvm::Expected<int64_t>(INT64_MAX);
                                },
                                help.floor));
      best.evaluations += polished.evaluations;
      plan = std::move(polished.plan);
      if (llvm::Error error = add(plan)) return error;
      if (seeds.back().predicted_ns >= best.predicted_ns) continue;
      best.plan = plan;
      best.predicted_ns = seeds.back().predicted_ns;
    }
    budget = all - std::min(all, best.evaluations);
  }
  sort_seeds(seeds);
  for (size_t i = 0; i < seeds.size(); ++i) {
    const double share = i == 0 ? kFirstShare : i == 1 ? 1 - kFirstShare : kOtherShare;
    const auto most = static_cast<uint32_t>(share * budget);
    if (most == 0) continue;
    if (i > 1 && best.evaluations + most > all) break;
    const auto judge_placed = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
      return is_placed(plan) ? judge(plan) : llvm::Expected<int64_t>(INT64_MAX);
    };
    CODL_ASSIGN_OR_RETURN(polished,
                          polish(costs, options, seeds[i].plan, most, judge_placed, help.floor));
    best.evaluations += polished.evaluations;
    if (polished.predicted_ns >= best.predicted_ns) continue;
    best.plan = std::move(polished.plan);
    best.predicted_ns = polished.predicted_ns;
  }
  return best;
}

}  // namespace codl::compiler
