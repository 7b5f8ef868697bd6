// Every node on the GPU that has a kernel there, on images, as frameworks for Adreno have them; on
// buffers what has no kernel for images. On a device without images the same as gpu-buffer. The
// rest on the CPU.
#include "compiler/partition/strategies/strategy.h"

namespace codl::compiler {

llvm::Expected<PartitionPlan> strategy_gpu_image(const CostModel& costs, const PartitionOptions&) {
  return prefer_processor(costs, Processor::Gpu, Layout::Image2d);
}

}  // namespace codl::compiler
