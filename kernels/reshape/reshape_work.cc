#include "kernels/common/work/work_counts.h"
#include "kernels/reshape/reshape.h"

namespace codl::kernels::reshape {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& y = step.output();
  const double bytes = traffic_bytes(y);
  out->run_bytes = bytes;
  out->tile_calls = 1;
  const int64_t elements = element_count(y);
  if (step.kernel->is_reference()) return fill_stream(step, machine, bytes, 1, 1, out);
  const int32_t tasks = reshape_task_count(elements);
  fill_stream(step, machine, bytes, ceil_div(elements, kReshapeBlock), tasks, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, work};

}  // namespace codl::kernels::reshape
