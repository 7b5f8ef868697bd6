#include <cmath>

#include "kernels/common/work/work_counts.h"
#include "kernels/reduce/reduce.h"

namespace codl::kernels::reduce {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<ReduceParams>();
  const int32_t kind = params.kind;
  const OperandShape& x = step.operands[0];
  const auto elements = static_cast<double>(element_count(x));
  const auto results = static_cast<double>(element_count(step.output()));
  out->operations = elements * (is_sum_of_squares(kind) ? 2 : 1);
  if (kind == kReduceLogSumExp) out->transcendentals = elements;
  if (kind == kReduceLogSum || kind == kReduceLogSumExp || kind == kReduceL2 || kind == kReduceMean)
    out->transcendentals += results;
  if (step.kernel->is_reference())
    return fill_loops(step, machine, elements / results, all_read_bytes(step), out);

  const ReduceWork work = reduce_work(params.axes_mask, x);
  const auto lanes = static_cast<double>(work.lanes);
  const double lines = elements / lanes;
  out->run_bytes = lanes * element_bytes(x);
  if (is_cpu(step)) {
    fill_tasks(work.units, work.task_count, machine, out);
    const double vector_lanes = machine.vector_lanes;
    const bool is_turned = !work.has_kept_lanes && work.lanes <= kReduceShortLine;
    // The last vector of a line, or of a block of turned ones, counts as a whole one. A sum cuts an
    // element's bits, chooses a factor and adds; an extreme looks for a NaN, too.
    const double across = is_turned ? results : lanes;
    const double vectors = std::ceil(across / vector_lanes) * elements / across;
    out->operations = vectors * vector_lanes * (is_extreme(kind) ? 4 : 5);
    // Each piece of a block of results, or of a line, is a call; all end in a quotient.
    out->tile_calls = is_turned ? std::ceil(results / kReduceBlock) * elements / results
                                : lines * std::ceil(lanes / kReduceBlock);
    out->transcendentals = results;
    if (is_turned) out->gathers = 2 * elements;
    // A line's sums become one.
    if (!work.has_kept_lanes && !is_turned)
      out->operations += results * smaller(lanes, double{kReduceBlock}) * 3;
  } else {
    const ReduceGroup group = reduce_group(work);
    if (is_extreme(kind)) out->operations = 3 * elements;
    out->tile_calls = out->waves * std::ceil(static_cast<double>(work.element_count) / group.items);
  }
  out->moved_bytes = traffic_bytes(x) + written_bytes(step);
  WorkMemory memory(step, machine, out);
  memory.read(traffic_bytes(x));
  memory.write(written_bytes(step));
  memory.finish();
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Reduction, work, nullptr, TileKind::Own};

}  // namespace codl::kernels::reduce
