#include "compiler/partition/partition.h"

#include <iterator>

#include "compiler/partition/strategies/strategy.h"
#include "compiler/support/error.h"
#include "llvm/ADT/StringExtras.h"

namespace codl::compiler {
namespace {

struct StrategyRow {
  const char* name;
  Strategy run;
};
constexpr StrategyRow kStrategies[] = {
    {"auto", strategy_auto},
    {"cpu", strategy_cpu},
    {"gpu", strategy_gpu},
};

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const StrategyRow& row : kStrategies) names.emplace_back(row.name);
  return names;
}

llvm::Expected<PartitionPlan> partition(const ir::Graph& graph, const LatencyPredictor& predictor,
                                        const PartitionOptions& options) {
  if (options.ratio && !(*options.ratio > 0 && *options.ratio < 1))
    return input_error("--ratio", "expected a GPU share between 0 and 1, found {0}",
                       *options.ratio);
  if (options.max_chain < 1)
    return input_error("--max-chain", "expected at least 1, found {0}", options.max_chain);
  const DeviceProfile& profile = predictor.profile();
  if (!profile.has_gpu && (options.strategy == "gpu" || options.forces_split()))
    return input_error(profile.name, "expected a device with a GPU, found one without");
  for (const StrategyRow& row : kStrategies) {
    if (options.strategy != row.name) continue;
    const CostModel costs(graph, predictor);
    auto plan = row.run(costs, options);
    if (!plan) return plan.takeError();
    if (llvm::Error error = check_partition(graph, *plan)) return error;
    return plan;
  }
  return input_error("--strategy", "expected one of {0}, found \"{1}\"",
                     llvm::join(strategy_names(), ", "), options.strategy);
}

}  // namespace codl::compiler
