#include "kernels/common/launch/cl_axes.h"
#include "kernels/reduce/reduce.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_ReduceBuffer(A, G, N) \
  A(int, item_count) A(int, count) A(float, divisor) N(8, Axis, kept) N(8, Axis, reduced)
// clang-format on
CODL_CL_ARGS(ReduceBuffer);

}  // namespace

void reduce_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<ReduceParams>();
  ReduceWork work = reduce_work(params.axes_mask, step.operands[0]);
  (work.has_kept_lanes ? work.kept : work.reduced).append(work.lanes, 1, 0);
  const ReduceGroup group = reduce_group(work);
  const bool has_sign_changed = params.kind == kReduceMin;
  out_launch->define("KEPT", work.kept.count);
  out_launch->define("REDUCED", work.reduced.count);
  out_launch->define("ITEMS", group.items);
  out_launch->define("OUTPUTS", group.outputs);
  out_launch->define("IS_MAX", is_extreme(params.kind) ? 1 : 0);
  out_launch->define("ELEMENT", params.kind == kReduceL1         ? 1
                                : is_sum_of_squares(params.kind) ? 2
                                : has_sign_changed               ? 3
                                                                 : 0);
  out_launch->define("IS_ROOT", params.kind == kReduceL2 ? 1 : 0);
  const int32_t item_count = set_line(step, work.output_count, out_launch);
  if (group.items > 1) {
    out_launch->local[0] = static_cast<uint64_t>(int64_t{group.items} * group.outputs);
    out_launch->global[0] =
        out_launch->local[0] * static_cast<uint64_t>(ceil_div(work.output_count, group.outputs));
    out_launch->local_bytes =
        static_cast<uint32_t>(group.items * group.outputs) * kClLocalNumberBytes;
  }
  ReduceBufferArgs args = {
      .item_count = item_count,
      .count = static_cast<int32_t>(work.element_count),
      .divisor = params.kind == kReduceMean ? static_cast<float>(work.element_count) : 1.0f,
      .kept = {},
      .reduced = {}};
  set_axes(work.kept, 0, args.kept);
  set_axes(work.reduced, 0, args.reduced);
  out_launch->add(args);
}

}  // namespace codl::kernels
