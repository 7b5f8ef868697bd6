#include "kernels/common/work/work_counts.h"
#include "kernels/pad/pad.h"

namespace codl::kernels::pad {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (step.kernel->is_reference())
    return fill_loops(step, machine, 1, smaller(traffic_bytes(x), written_bytes(step)), out);
  const auto& params = step.params_as<PadParams>();
  const RowWork work = row_work(step.part_dim, step.part, y);
  const Range rows = pad_input_range(params.kind, pad_axes(params).begin[2], work.rows, x.dims[2]);
  const double channels = smaller(work.channels.count(), padded_channels(x));
  const double read_bytes = smaller(map_bytes(x, rows.count(), channels), written_bytes(step));
  // A row of the input is one piece, where its pixels have as many channels and none is left out.
  const bool is_row = x.dims[1] == y.dims[1] && step.part_dim != SplitDim::OutputChannel;
  out->run_bytes = (is_row ? x.dims[3] : 1.0) * channels * element_bytes(y);
  out->tile_calls = static_cast<double>(work.units) * (is_row ? 1 : y.dims[3]);
  fill_stream(step, machine, read_bytes, work.units, work.task_count, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, work};

}  // namespace codl::kernels::pad
