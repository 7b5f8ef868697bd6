// Every node on the GPU that has a kernel there; the rest on the CPU.
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

llvm::Expected<PartitionPlan> strategy_gpu(const CostModel& costs, const PartitionOptions&) {
  return prefer_processor(costs, Processor::Gpu);
}

}  // namespace codl::compiler
