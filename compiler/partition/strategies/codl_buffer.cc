// CoDL's planner where the GPU works on buffers: a bar of the paper's Fig. 15, that shows what
// images are worth on Adreno. On a device without images the same as codl.
#include "compiler/partition/strategies/codl.h"

namespace codl::compiler {

llvm::Expected<PartitionPlan> strategy_codl_buffer(const CostModel& costs,
                                                   const PartitionOptions& options) {
  return codl_on(costs, options, Layout::Nhwc);
}

}  // namespace codl::compiler
