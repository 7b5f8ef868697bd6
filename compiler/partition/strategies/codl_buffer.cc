// Runs CoDL's planner with the GPU on buffers. It is a bar of the paper's Fig. 15, which shows how
// much images gain on Adreno. On a device without images it is the same as codl.
#include "compiler/partition/strategies/codl.h"

namespace codl::compiler {

llvm::Expected<PartitionPlan> strategy_codl_buffer(const CostModel& costs,
                                                   const PartitionOptions& options) {
  return codl_on(costs, options, costs.form_pair_with(/*has_images=*/false));
}

}  // namespace codl::compiler
