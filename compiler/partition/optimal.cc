#include "compiler/partition/optimal.h"

#include "compiler/partition/bound.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

// Seeds that are polished, and the share of the budget that the first has. More seeds are of little
// use: with a large budget the search ends within 1 % of the same time from each.
constexpr size_t kPolished = 2;
constexpr double kFirstShare = 0.7;

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

}  // namespace

llvm::Expected<Optimum> find_optimum(const CostModel& costs, const PartitionOptions& options,
                                     JudgePlan judge) {
  std::vector<Seed> seeds;
  for (const StrategyRow& row : strategy_rows()) {
    CODL_ASSIGN_OR_RETURN(plan, row.run(costs, options));
    CODL_ASSIGN_OR_RETURN(ns, judge(plan));
    seeds.push_back({std::move(plan), ns});
  }
  llvm::stable_sort(seeds,
                    [](const Seed& a, const Seed& b) { return a.predicted_ns < b.predicted_ns; });
  Optimum best{std::move(seeds.front().plan), seeds.front().predicted_ns,
               static_cast<uint32_t>(seeds.size()), lower_bound_us(costs)};
  if (!has_choice(costs) || options.search_budget <= best.evaluations) return best;
  const uint32_t budget = options.search_budget - best.evaluations;
  for (size_t i = 0; i < std::min(kPolished, seeds.size()); ++i) {
    const double share = i == 0 ? kFirstShare : 1 - kFirstShare;
    const auto most = static_cast<uint32_t>(share * budget);
    if (most == 0) continue;
    const PartitionPlan& seed = i == 0 ? best.plan : seeds[i].plan;
    CODL_ASSIGN_OR_RETURN(polished, polish(costs, options, seed, most, judge));
    best.evaluations += polished.evaluations;
    if (polished.predicted_ns >= best.predicted_ns) continue;
    best.plan = std::move(polished.plan);
    best.predicted_ns = polished.predicted_ns;
  }
  return best;
}

}  // namespace codl::compiler
