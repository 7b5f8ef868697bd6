#include "kernels/common/work/work_counts.h"
#include "kernels/concat/concat.h"

namespace codl::kernels::concat {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& y = step.output();
  const int32_t axis = step.params_as<ConcatParams>().axis;
  const int64_t copied = copied_channels(step);
  if (copied == 0) {
    out->tasks = 1;
    return;
  }
  const double share = static_cast<double>(copied) / y.dims[axis];
  const auto elements = static_cast<double>(part_elements(step)) * share;
  // So many bytes follow each other in memory, in the input with the fewest.
  double behind = element_bytes(y);  // bytes per index along the axis
  if (has_pixels(y)) {
    if (axis != 1) behind *= padded_channels(y) * (axis == 3 ? 1.0 : y.dims[3]);
  } else {
    for (int32_t i = axis + 1; i < y.rank; ++i) behind *= y.dims[i];
  }
  double least = behind * y.dims[axis];
  uint32_t inputs = 0;  // that are copied
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i) {
    if (is_window_of(step.operands[i], y)) continue;
    least = smaller(least, behind * step.operands[i].dims[axis]);
    ++inputs;
  }
  // Counts the pieces of y.
  const double joined = elements * element_bytes(y) / (behind * static_cast<double>(copied));
  if (step.kernel->is_reference())
    return fill_loops(step, machine, 1, elements * element_bytes(y), out);
  const ConcatWork work = concat_work(step.part_dim, step.part, y);
  out->run_bytes = least;
  out->tile_calls = joined * inputs;
  if (share == 1)
    return fill_stream(step, machine, elements * element_bytes(step.operands[0]), work.units,
                       work.task_count, out);
  if (step.kernel->processor == Processor::Cpu)
    fill_tasks(work.units, work.task_count, machine, out);
  else
    out->tile_calls = out->waves;
  WorkMemory memory(step, machine, out);
  memory.read_channels(elements * element_bytes(y));
  memory.write(elements * element_bytes(y));
  memory.finish();
  out->moved_bytes += out->read_bytes + out->written_bytes;
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, work};

}  // namespace codl::kernels::concat
