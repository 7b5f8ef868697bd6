#include "kernels/common/contract/move_elements.h"
#include "kernels/common/work/work_counts.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels::transpose {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& y = step.output();
  const auto elements = static_cast<double>(element_count(y));
  const double bytes = traffic_bytes(y);
  if (step.kernel->is_reference()) return fill_loops(step, machine, 1, bytes, out);
  int32_t perm[kMaxRank];
  transpose_perm(step.params_as<TransposeParams>(), perm);
  int64_t strides[kMaxRank] = {};
  strides_of(step.operands[0], strides);
  LoopAxes axes;
  for (int32_t i = 0; i < y.rank; ++i) axes.append(y.dims[i], strides[perm[i]], 0);
  const int32_t last = axes.count - 1;
  double run = last < 0 ? elements : static_cast<double>(axes.extents[last]);
  if (last >= 0 && axes.steps[last][0] != 1) {
    // Squares of cache lines are turned; else each element is one by itself.
    const bool is_turned = (is_cpu(step) ? turned_axis(axes) : transpose_cl_axis(axes)) >= 0;
    run = is_turned ? smaller(run, double{kTurnSide}) : 1;
    if (!is_turned) out->gathers = elements;
    if (is_turned && is_cpu(step)) out->operations = elements;  // shuffles
  }
  out->run_bytes = run * element_bytes(y);
  out->tile_calls = elements / (run == kTurnSide ? run * kTurnSide : run);
  fill_stream(step, machine, bytes, ceil_div(element_count(y), kTransposeBlock),
              transpose_task_count(element_count(y)), out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Move, work};

}  // namespace codl::kernels::transpose
