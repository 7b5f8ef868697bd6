#include "kernels/common/work/work_counts.h"
#include "kernels/lrn/lrn.h"

namespace codl::kernels::lrn {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& y = step.output();
  const double count = lrn_neighbours(step.params_as<LrnParams>(), y.dims[1]).count();
  const auto elements = static_cast<double>(part_elements(step));
  // Counts the squares, on the CPU once for all neighbours; the sums; the power and the quotient.
  out->operations = elements * (is_cpu(step) ? count + 4 : 2 * count + 3);
  out->transcendentals = 3 * elements;
  const double read_bytes = elements * element_bytes(step.operands[0]);
  if (step.kernel->is_reference()) return fill_loops(step, machine, count, read_bytes, out);
  const RowWork work = row_work(step.part_dim, step.part, y);
  fill_pixel_runs(step, out);
  fill_stream(step, machine, read_bytes, work.units, work.task_count, out);
  out->moved_bytes += elements * count * element_bytes(step.operands[0]);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Window, work, choose_chunk_lanes};

}  // namespace codl::kernels::lrn
