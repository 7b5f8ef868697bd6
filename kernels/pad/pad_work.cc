#include "kernels/common/work/work_counts.h"
#include "kernels/pad/pad.h"

namespace codl::kernels {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const double read_bytes = smaller(traffic_bytes(x), written_bytes(step));
  if (step.kernel->is_reference()) return fill_loops(step, machine, 1, read_bytes, out);
  const PadWork work = pad_work(y);
  // A row of the input is one piece, where its pixels have as many channels.
  const bool is_row = x.dims[1] == y.dims[1];
  out->run_bytes = (is_row ? x.dims[3] : 1.0) * padded_channels(x) * element_bytes(y);
  out->tile_calls = double{1} * y.dims[0] * y.dims[2] * (is_row ? 1 : y.dims[3]);
  fill_stream(step, machine, read_bytes, work.units, work.task_count, out);
}

}  // namespace

extern const OpWork kPadWork;
const OpWork kPadWork = {KernelFamily::Move, work};

}  // namespace codl::kernels
