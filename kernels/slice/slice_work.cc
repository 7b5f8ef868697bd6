#include "kernels/common/work/work_counts.h"
#include "kernels/slice/slice.h"

namespace codl::kernels::slice {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& y = step.output();
  const double bytes = traffic_bytes(y);
  const SliceAxes slice = slice_axes(step.params_as<SliceParams>());
  // So many elements follow each other in both.
  double run = 1;
  for (int32_t i = y.rank - 1; i >= 0; --i) {
    if (slice.step[i] != 1) break;
    run *= slice.count[i];
    if (slice.count[i] != step.operands[0].dims[i]) break;
  }
  if (step.kernel->is_reference()) return fill_loops(step, machine, 1, bytes, out);
  if (run == 1) out->gathers = static_cast<double>(element_count(y));
  out->run_bytes = run * element_bytes(y);
  out->tile_calls = static_cast<double>(element_count(y)) / run;
  fill_stream(step, machine, bytes, 1, 1, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, work};

}  // namespace codl::kernels::slice
