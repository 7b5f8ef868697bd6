#include "compiler/partition/partition.h"

#include "compiler/partition/strategies/strategy.h"
#include "compiler/partition/user_places.h"
#include "compiler/support/error.h"
#include "llvm/ADT/StringExtras.h"

namespace codl::compiler {
namespace {

llvm::Error check_options(const DeviceProfile& profile, const PartitionOptions& options) {
  if (!profile.has_gpu && (options.strategy == "gpu" || options.forces_split()))
    return input_error(profile.name, "expected a device with a GPU, found one without");
  return llvm::Error::success();
}

std::vector<std::string> names_for(StrategyUser user) {
  std::vector<std::string> names;
  for (const NamedStrategy& strategy : named_strategies())
    if (strategy.user == user) names.emplace_back(strategy.name);
  return names;
}

}  // namespace

llvm::Error check_objective(const DeviceProfile& profile, const PartitionOptions& options) {
  if (options.objective == Objective::Energy && !profile.power)
    return input_error(profile.name,
                       "expected power figures in the profile for --objective=energy, found none");
  return llvm::Error::success();
}

std::vector<std::string> public_strategies() {
  std::vector<std::string> names = names_for(StrategyUser::Everybody);
  names.insert(names.begin(), "optimal");
  return names;
}

std::vector<std::string> other_strategies() { return names_for(StrategyUser::Papers); }

llvm::Expected<PartitionPlan> partition(const ir::Graph& graph, const LatencyPredictor& predictor,
                                        const PartitionOptions& options) {
  if (llvm::Error error = check_options(predictor.profile(), options)) return error;
  const std::string name = options.is_optimal() ? "segments" : options.strategy;
  for (const NamedStrategy& strategy : named_strategies()) {
    if (name != strategy.name) continue;
    const CostModel costs(graph, predictor, options.limits, options.packings, options.auto_as);
    CODL_ASSIGN_OR_RETURN(plan, strategy.run(costs, options));
    CODL_ASSIGN_OR_RETURN(places, UserPlaces::create(costs, options.limits.places));
    if (llvm::Error error = places.apply(plan)) return error;
    set_boundary_first(plan, options.boundary_first == BoundaryFirst::Always);
    if (llvm::Error error = check_partition(graph, plan)) return error;
    return plan;
  }
  return input_error("--strategy", "expected one of {0}, found \"{1}\"",
                     llvm::join(public_strategies(), ", "), options.strategy);
}

llvm::Expected<Optimum> optimal_partition(const ir::Graph& graph, const LatencyPredictor& predictor,
                                          const PartitionOptions& options, JudgePlan judge,
                                          llvm::ArrayRef<PartitionPlan> more_seeds,
                                          const JudgeHelp& help) {
  if (llvm::Error error = check_options(predictor.profile(), options)) return error;
  const CostModel costs(graph, predictor, options.limits, options.packings, options.auto_as);
  CODL_ASSIGN_OR_RETURN(optimum, find_optimum(costs, options, judge, more_seeds, help));
  if (llvm::Error error = check_partition(graph, optimum.plan)) return error;
  return optimum;
}

}  // namespace codl::compiler
