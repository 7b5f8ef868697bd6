#include <cmath>

#include "kernels/common/work/work_counts.h"
#include "kernels/convert/convert.h"

namespace codl::kernels::convert {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const auto elements = static_cast<double>(part_elements(step));
  const double read_bytes = elements * element_bytes(x);
  if (step.kernel->is_reference()) return fill_loops(step, machine, 1, read_bytes, out);
  const ConvertWork work = convert_work(step.part_dim, step.part, y);
  fill_pixel_runs(step, out);
  const int32_t channels = channels_of_part(step.part_dim, step.part, y).count();
  if (is_cpu(step) && x.layout == y.layout && has_pixels(y) && channels % kChannelPad != 0) {
    // Pixels with pad lanes are copied one by one.
    out->run_bytes = channels * element_bytes(y);
    out->tile_calls = elements / round_up(channels, kChannelPad);
  }
  if ((x.layout == Layout::Plain) != (y.layout == Layout::Plain) && y.rank == 4) {
    // Squares of 16 pixels times 16 channels are turned: 64 bytes of a pixel or of a plane at once.
    constexpr int32_t kSide = 16;
    const double pixels = elements / round_up(channels, has_pixels(y) ? kChannelPad : 1);
    out->run_bytes = smaller(channels, kSide) * element_bytes(y);
    out->tile_calls = std::ceil(pixels / kSide) * static_cast<double>(ceil_div(channels, kSide));
    // Each element of one of the two sides goes by itself if no square is turned in registers.
    if (!is_cpu(step)) out->gathers = elements;
    out->operations = is_cpu(step) ? elements : 0;  // shuffles
    // Channels behind the last 16 are turned in fours.
    if (is_cpu(step))
      out->operations += pixels * (channels % kSide) * (machine.vector_lanes / 4.0 - 1);
  }
  if (is_cpu(step) && x.dtype != y.dtype) out->operations += elements;
  fill_stream(step, machine, read_bytes, work.units, work.task_count, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, work};

}  // namespace codl::kernels::convert
