// Places every node on the CPU.
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

llvm::Expected<PartitionPlan> strategy_cpu(const CostModel& costs, const PartitionOptions&) {
  return prefer_processor(costs, Processor::Cpu);
}

}  // namespace codl::compiler
