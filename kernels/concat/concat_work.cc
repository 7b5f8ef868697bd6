#include "kernels/common/work/work_counts.h"
#include "kernels/concat/concat.h"

namespace codl::kernels {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& y = step.output();
  const int32_t axis = step.params_as<ConcatParams>().axis;
  const auto elements = static_cast<double>(part_elements(step));
  // Of every input the piece that follows itself in memory, of the least the shortest.
  double behind = element_bytes(y);  // bytes of an index along the axis
  if (has_pixels(y)) {
    if (axis != 1) behind *= padded_channels(y) * (axis == 3 ? 1.0 : y.dims[3]);
  } else {
    for (int32_t i = axis + 1; i < y.rank; ++i) behind *= y.dims[i];
  }
  double least = behind * y.dims[axis];
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    least = smaller(least, behind * step.operands[i].dims[axis]);
  const double joined = elements * element_bytes(y) / (behind * y.dims[axis]);  // pieces of y
  if (step.kernel->is_reference())
    return fill_loops(step, machine, 1, elements * element_bytes(y), out);
  const ConcatWork work = concat_work(step.part_dim, step.part, y);
  out->run_bytes = least;
  out->tile_calls = joined * (step.operand_count - 1);
  fill_stream(step, machine, elements * element_bytes(step.operands[0]), work.units,
              work.task_count, out);
}

}  // namespace

extern const OpWork kConcatWork;
const OpWork kConcatWork = {KernelFamily::Move, work};

}  // namespace codl::kernels
