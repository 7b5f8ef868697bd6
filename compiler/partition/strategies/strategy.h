// Declares one interface; each strategy has a file.
#pragma once

#include "compiler/partition/cost_model.h"
#include "compiler/partition/options.h"

namespace codl::compiler {

// A plan for every node, or an Unsupported error naming all nodes the device cannot run.
using Strategy = llvm::Expected<PartitionPlan> (*)(const CostModel& costs,
                                                   const PartitionOptions& options);

// Says who asks for a strategy. The search begins with the plans of all strategies except the
// papers' bars: without these it finds the same plans.
enum class StrategyUser {
  Everybody,  // --help has it: systems and granularities that people compare with
  Papers,     // --help-all has it: bars of the papers' figures
  Search,     // is no value of --strategy
};

struct NamedStrategy {
  const char* name;
  Strategy run;
  StrategyUser user;
  bool is_seed() const { return user != StrategyUser::Papers; }
};
// Returns the strategies that need nothing but costs, in the order in which a search judges their
// plans.
llvm::ArrayRef<NamedStrategy> named_strategies();

llvm::Expected<PartitionPlan> strategy_cpu(const CostModel& costs, const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_gpu(const CostModel& costs, const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_gpu_image(const CostModel& costs,
                                                 const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_gpu_buffer(const CostModel& costs,
                                                  const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_coarse(const CostModel& costs,
                                              const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_fine(const CostModel& costs,
                                            const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_mulayer(const CostModel& costs,
                                               const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_codl(const CostModel& costs,
                                            const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_codl_buffer(const CostModel& costs,
                                                   const PartitionOptions& options);
llvm::Expected<PartitionPlan> strategy_segments(const CostModel& costs,
                                                const PartitionOptions& options);

// Appends a segment's node_partitions, as a chain if they are more than one.
void append_segment(PartitionPlan& plan, Segment segment);

// Places each node whole on one processor, with its maps in one form or another, at the least
// predicted time including transfers and conversions. It is dynamic programming over the graph's
// order, which takes every value to lie where the node just before left its own. With
// `must_use_gpu`, nodes that can be on the GPU are.
llvm::Expected<PartitionPlan> best_whole_nodes(const CostModel& costs, bool must_use_gpu);

// Places every node on `preferred` where it can run there, else on the other processor; maps are in
// the forms that CostModel::whole() has for these.
llvm::Expected<PartitionPlan> prefer_processor(const CostModel& costs, Processor preferred,
                                               const FormPair& forms);
inline llvm::Expected<PartitionPlan> prefer_processor(const CostModel& costs, Processor preferred) {
  return prefer_processor(costs, preferred, costs.form_pairs().front());
}

}  // namespace codl::compiler
