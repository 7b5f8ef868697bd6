// Decides which processor computes which part of which node.
#pragma once

#include "compiler/partition/options.h"
#include "compiler/partition/partition_plan.h"
#include "compiler/predict/latency_predictor.h"

namespace codl::compiler {

// Runs the strategy of `options` and check_partition on what it gives. Errors: Input (no such
// strategy; a ratio outside (0, 1); a device without a GPU asked to use it), Unsupported (nodes
// that no processor of the device can run: all are named).
llvm::Expected<PartitionPlan> partition(const ir::Graph& graph, const LatencyPredictor& predictor,
                                        const PartitionOptions& options);

// Names for --help, comma separated.
std::vector<std::string> strategy_names();

}  // namespace codl::compiler
