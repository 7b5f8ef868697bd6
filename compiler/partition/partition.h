// Decides which processor computes which part of which node.
#pragma once

#include "compiler/device/latency_predictor.h"
#include "compiler/partition/options.h"
#include "compiler/partition/partition_plan.h"
#include "compiler/partition/search/optimal.h"

namespace codl::compiler {

// Returns an Input error if the profile has no figures for the objective.
llvm::Error check_objective(const DeviceProfile& profile, const PartitionOptions& options);

// Runs the strategy of `options`, then check_partition on its plan. Errors: Input (no such
// strategy; a ratio outside (0, 1); a device without a GPU asked to use it), Unsupported (nodes
// that no processor of the device can run: all are named).
llvm::Expected<PartitionPlan> partition(const ir::Graph& graph, const LatencyPredictor& predictor,
                                        const PartitionOptions& options);

// Searches for the plan that `judge` finds best, for options that are is_optimal(). partition()
// gives the plan of `segments` for these, which needs no judge.
llvm::Expected<Optimum> optimal_partition(const ir::Graph& graph, const LatencyPredictor& predictor,
                                          const PartitionOptions& options, JudgePlan judge,
                                          llvm::ArrayRef<PartitionPlan> more_seeds = {},
                                          const JudgeHelp& help = {});

// Return the values of --strategy: those of --help, and the bars of papers' figures that only
// --help-all has.
std::vector<std::string> public_strategies();
std::vector<std::string> other_strategies();

}  // namespace codl::compiler
