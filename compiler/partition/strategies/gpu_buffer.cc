// Places every node on the GPU that has a kernel there, on buffers; the rest on the CPU.
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

llvm::Expected<PartitionPlan> strategy_gpu_buffer(const CostModel& costs, const PartitionOptions&) {
  return prefer_processor(costs, Processor::Gpu, costs.form_pair_with(/*has_images=*/false));
}

}  // namespace codl::compiler
