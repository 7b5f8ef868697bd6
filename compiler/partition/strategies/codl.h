// Declares CoDL's planner, of which there are two strategies.
#pragma once

#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

// Runs Algorithm 1 with the GPU's maps in layout `maps`, where it has kernels for that.
llvm::Expected<PartitionPlan> codl_on(const CostModel& costs, const PartitionOptions& options,
                                      Layout maps);

}  // namespace codl::compiler
