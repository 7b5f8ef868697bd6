#include "kernels/binary/binary.h"
#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/work/work_counts.h"

namespace codl::kernels::binary {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<BinaryParams>();
  const OperandShape& y = step.output();
  const auto elements = static_cast<double>(part_elements(step));
  switch (params.kind) {
    case kBinaryDiv:
      out->transcendentals += elements;
      break;
    case kBinaryPow:
      out->transcendentals += 2 * elements;  // a logarithm and an exponential
      break;
    case kBinaryMod:
    case kBinaryFmod:
      out->transcendentals += elements;
      out->operations += 2 * elements;
      break;
    case kBinaryPRelu:
      out->operations += 2 * elements;
      break;
    default:
      out->operations += elements;
  }
  add_curve(params.activation, elements, machine, out);
  // A broadcast operand is read once, whatever the number of uses.
  double read_bytes = 0;
  for (uint32_t i = 0; i < 2; ++i)
    read_bytes += smaller(elements, static_cast<double>(stored_elements(step.operands[i]))) *
                  element_bytes(step.operands[i]);
  if (step.kernel->is_reference()) return fill_loops(step, machine, 2, read_bytes, out);
  const ElementwiseWork work = elementwise_work(step.part_dim, step.part, y);
  fill_pixel_runs(step, out);
  if (is_cpu(step) && !has_pixels(y)) {
    // Runs end where a broadcast operand begins again; what is left of a vector is by itself.
    LoopAxes axes;
    for (int32_t i = 0; i < y.rank; ++i)
      axes.append(y.dims[i], broadcast_stride(step.operands[0], y, i),
                  broadcast_stride(step.operands[1], y, i));
    const double run =
        axes.count == 0 ? elements : static_cast<double>(axes.extents[axes.count - 1]);
    out->run_bytes = run * element_bytes(y);
    out->tile_calls = larger(elements / run, static_cast<double>(work.units));
    if (static_cast<int64_t>(run) % machine.vector_lanes != 0) out->gathers += 3 * elements / run;
  }
  // Both are loaded for each element.
  out->moved_bytes += 2 * elements * element_bytes(step.operands[0]) - read_bytes;
  fill_stream(step, machine, read_bytes, work.units, work.task_count, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Elementwise, work, choose_chunk_lanes};

}  // namespace codl::kernels::binary
