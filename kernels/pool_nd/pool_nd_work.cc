#include "kernels/common/work/work_counts.h"
#include "kernels/pool_nd/pool_nd.h"

namespace codl::kernels::pool_nd {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const PoolNdWindow window =
      pool_nd_axes(step.params_as<PoolNdParams>(), step.operands[0], step.output());
  double taps = 1;
  for (const PoolNdAxis& axis : window.axis) taps *= axis.kernel;
  out->operations = taps * static_cast<double>(element_count(step.output()));
  fill_loops(step, machine, taps, all_read_bytes(step), out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Window, work};

}  // namespace codl::kernels::pool_nd
