// One interface, one file per strategy, named as --strategy= takes it.
#pragma once

#include "compiler/partition/cost_model.h"
#include "compiler/partition/options.h"

namespace codl::compiler {

// A plan for every node, or an Unsupported error naming all nodes the device cannot run.
using Strategy = llvm::Expected<PartitionPlan> (*)(const CostModel& costs,
                                                   const PartitionOptions& options);

struct StrategyRow {
  const char* name;
  Strategy run;
};
// Those that need nothing but costs, in a fixed order.
llvm::ArrayRef<StrategyRow> strategy_rows();

llvm::Expected<PartitionPlan> strategy_cpu(const CostModel& costs, const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_gpu(const CostModel& costs, const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_coarse(const CostModel& costs,
                                              const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_fine(const CostModel& costs,
                                            const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_mulayer(const CostModel& costs,
                                               const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_codl(const CostModel& costs,
                                            const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_segments(const CostModel& costs,
                                                const PartitionOptions& options);

// Appends a segment's divisions, as a chain if they are more than one.
void append_segment(PartitionPlan& plan, Segment segment);

// Every node on `preferred` where it can run there, else on the other processor.
llvm::Expected<PartitionPlan> prefer_processor(const CostModel& costs, Processor preferred);

}  // namespace codl::compiler
