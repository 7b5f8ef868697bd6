#include <cmath>

#include "kernels/common/work/work_counts.h"
#include "kernels/resize/resize.h"

namespace codl::kernels::resize {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<ResizeParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const auto elements = static_cast<double>(part_elements(step));
  const double taps = params.kind == kResizeNearest ? 1 : params.kind == kResizeLinear ? 2 : 4;
  double looks = 1;  // inputs per output
  for (int32_t i = 0; i < y.rank; ++i)
    if (x.dims[i] != y.dims[i]) looks *= taps;
  // Each axis takes a difference, a product and a sum.
  if (looks > 1) out->operations = 2 * (looks - 1) * elements;
  // Each input element of the part is read once.
  const double read_bytes = traffic_bytes(x) * elements / static_cast<double>(stored_elements(y));
  if (step.kernel->is_reference()) return fill_loops(step, machine, looks, read_bytes, out);
  const RowWork work = row_work(step.part_dim, step.part, y);
  const int32_t channels = channels_of_part(step.part_dim, step.part, y).count();
  out->run_bytes = round_up(channels, kChannelPad) * element_bytes(y);
  out->tile_calls = elements / round_up(channels, kChannelPad);
  out->moved_bytes = looks * elements * element_bytes(x) - read_bytes;
  if (out->moved_bytes < 0) out->moved_bytes = 0;
  if (is_cpu(step)) {
    // Counts loops over vectors of a pixel, four or one at a time; a column of the input is weighed
    // once for its neighbours: two loads, two operations.
    const double stored = round_up(channels, kChannelPad);
    const double lanes = machine.vector_lanes;
    const double wide = std::floor(stored / (4 * lanes));
    const double vectors = vector_channels(stored, lanes);
    out->tile_calls *= wide + vector_channels(stored - wide * 4 * lanes, lanes) / lanes;
    if (looks > 1) {
      const double columns = smaller(2, (x.dims[3] + 1.0) / y.dims[3]);
      out->operations = elements * (2 + 2 * columns) * vectors / stored;
      out->moved_bytes = larger(2 * columns * elements * element_bytes(x) - read_bytes, 0);
    }
  }
  fill_stream(step, machine, read_bytes, work.units, work.task_count, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Window, work, choose_chunk_lanes};

}  // namespace codl::kernels::resize
