// Places every node on the GPU that has a kernel there, in the fastest layout; the rest on the CPU.
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

llvm::Expected<PartitionPlan> strategy_gpu(const CostModel& costs, const PartitionOptions&) {
  return best_whole_nodes(costs, /*must_use_gpu=*/true);
}

}  // namespace codl::compiler
