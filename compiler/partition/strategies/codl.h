// Declares CoDL's planner, of which there are two strategies.
#pragma once

#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

// Runs Algorithm 1 with maps in `forms`, where there are kernels for these.
llvm::Expected<PartitionPlan> codl_on(const CostModel& costs, const PartitionOptions& options,
                                      const FormPair& forms);

}  // namespace codl::compiler
