#include "compiler/schedule/schedule.h"
#include "compiler/support/error.h"
#include "kernels/work_table.h"

namespace codl::compiler {

llvm::Error check_work_groups(const Variant& variant, const DeviceProfile& profile) {
  for (const Step& step : variant.steps) {
    if (step.queue != Queue::Gpu || step.kind != StepKind::Kernel) continue;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    if (!kernels::has_room_for_group(variant.shape_of(step, shapes), profile.gpu_facts))
      return internal_error(step.name,
                            "{0}: expected at most {1} work-items and {2:f0} bytes of local memory "
                            "in a work-group, and registers for them, found more",
                            step.kernel->symbol, profile.gpu_facts.max_group_items,
                            profile.gpu_facts.max_group_local_bytes);
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
