// Places every node on the GPU that has a kernel there, on images, as frameworks for Adreno do; on
// buffers if it has no kernel for images. The rest is on the CPU. On a device without images it is
// the same as gpu-buffer.
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

llvm::Expected<PartitionPlan> strategy_gpu_image(const CostModel& costs, const PartitionOptions&) {
  return prefer_processor(costs, Processor::Gpu, costs.form_pair_with(/*has_images=*/true));
}

}  // namespace codl::compiler
