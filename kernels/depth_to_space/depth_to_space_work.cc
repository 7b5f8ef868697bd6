#include "kernels/common/work/work_counts.h"
#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels::depth_to_space {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<DepthToSpaceParams>();
  const OperandShape& y = step.output();
  const auto elements = static_cast<double>(part_elements(step));
  const double read_bytes = elements * element_bytes(step.operands[0]);
  if (step.kernel->is_reference()) return fill_loops(step, machine, 1, read_bytes, out);
  const DepthToSpaceWork work = depth_to_space_work(step.part_dim, step.part, y);
  // A pixel's channels lie side by side, or a block apart.
  const bool is_apart = params.is_channel_major != 0;
  const int32_t channels = channels_of_part(step.part_dim, step.part, y).count();
  out->run_bytes = (is_apart ? 1 : channels) * element_bytes(y);
  if (is_apart) out->gathers = elements;
  out->tile_calls = elements / round_up(channels, kChannelPad);
  fill_stream(step, machine, read_bytes, work.units, work.task_count, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, work};

}  // namespace codl::kernels::depth_to_space
