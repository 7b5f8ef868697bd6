// Splits by operator: each node is whole on one processor or split, and there are no chains; both
// processors wait for each other after every node. This is one of the two extremes of the founding
// study.
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

llvm::Expected<PartitionPlan> strategy_fine(const CostModel& costs,
                                            const PartitionOptions& options) {
  PartitionOptions without_chains = options;
  without_chains.max_chain = 1;
  return strategy_segments(costs, without_chains);
}

}  // namespace codl::compiler
