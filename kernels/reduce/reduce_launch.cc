#include "kernels/common/launch/cl_axes.h"
#include "kernels/reduce/reduce.h"

namespace codl::kernels {

void reduce_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<ReduceParams>();
  ReduceWork work = reduce_work(params.axes_mask, step.operands[0]);
  (work.has_kept_lanes ? work.kept : work.reduced).append(work.lanes, 1, 0);
  const ReduceGroup group = reduce_group(work);
  const bool has_sign_changed = params.kind == kReduceMin;
  out_launch->define("AXES",
                     work.kept.count > work.reduced.count ? work.kept.count : work.reduced.count);
  out_launch->define("ITEMS", group.items);
  out_launch->define("OUTPUTS", group.outputs);
  out_launch->define("IS_MAX", is_extreme(params.kind) ? 1 : 0);
  out_launch->define("ELEMENT", params.kind == kReduceL1         ? 1
                                : is_sum_of_squares(params.kind) ? 2
                                : has_sign_changed               ? 3
                                                                 : 0);
  out_launch->define("IS_ROOT", params.kind == kReduceL2 ? 1 : 0);
  set_line(step, work.output_count, out_launch);
  if (group.items > 1) {
    out_launch->local[0] = static_cast<uint64_t>(int64_t{group.items} * group.outputs);
    out_launch->global[0] =
        out_launch->local[0] * static_cast<uint64_t>(ceil_div(work.output_count, group.outputs));
    out_launch->local_bytes = static_cast<uint32_t>(group.items * group.outputs) * sizeof(float);
  }
  out_launch->add_int(static_cast<int32_t>(work.element_count));
  out_launch->add_float(params.kind == kReduceMean ? static_cast<float>(work.element_count) : 1.0f);
  add_axes(work.kept, 0, out_launch);
  add_axes(work.reduced, 0, out_launch);
}

}  // namespace codl::kernels
