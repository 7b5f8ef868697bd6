#include "kernels/common/work/work_counts.h"
#include "kernels/unary/unary.h"

namespace codl::kernels::unary {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const auto elements = static_cast<double>(part_elements(step));
  add_curve(step.params_as<UnaryParams>().kind, elements, machine, out);
  if (step.kernel->is_reference()) return count_moves(step, machine, out);
  const ElementwiseWork work = elementwise_work(step.part_dim, step.part, y);
  fill_pixel_runs(step, out);
  fill_stream(step, machine, elements * element_bytes(x), work.units, work.task_count, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Elementwise, work, choose_chunk_lanes};

}  // namespace codl::kernels::unary
