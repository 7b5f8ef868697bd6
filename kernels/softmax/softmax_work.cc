#include <cmath>

#include "kernels/common/work/work_counts.h"
#include "kernels/softmax/softmax.h"

namespace codl::kernels::softmax {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<SoftmaxParams>();
  const OperandShape& y = step.output();
  const SoftmaxWork work = softmax_work(params.axis, y);
  const auto elements = static_cast<double>(part_elements(step));
  const double runs = static_cast<double>(work.outer * work.inner);
  // An element takes a maximum, distance, sum, factor and exponential; a run takes a quotient, or a
  // logarithm.
  out->operations = 4 * elements;
  out->transcendentals = elements + runs;
  const SoftmaxItems items = is_cpu(step) ? SoftmaxItems{} : softmax_items(work);
  const double bytes = elements * element_bytes(y);
  out->run_bytes = work.inner == 1 ? static_cast<double>(work.axis) * element_bytes(y)
                                   : static_cast<double>(work.inner) * element_bytes(y);
  // There are three passes: over x; x and y; y.
  out->moved_bytes = 5 * bytes;
  out->tile_calls = 3 * static_cast<double>(work.outer) *
                    (work.inner == 1 ? 1 : static_cast<double>(work.axis * work.inner_blocks));
  if (is_cpu(step)) {
    fill_tasks(work.units, work.task_count, machine, out);
  } else {
    // Elements that are held are all loaded at once, in one pass.
    const double steps = std::ceil(static_cast<double>(work.axis) / items.items);
    out->tile_calls = out->waves * (items.held > 0 ? 1 : 3 * steps);
    if (items.held > 0) out->moved_bytes = 2 * bytes;
  }
  const double set_bytes = static_cast<double>(work.axis) *
                           smaller(static_cast<double>(work.inner), double{kSoftmaxBlock}) *
                           element_bytes(y);
  WorkMemory memory(step, machine, out);
  memory.read(elements * element_bytes(step.operands[0]));
  memory.write(written_bytes(step));
  if (items.held == 0) memory.again(3 * bytes, set_bytes);
  memory.finish();
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Reduction, work};

}  // namespace codl::kernels::softmax
