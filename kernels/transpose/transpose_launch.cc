#include "kernels/common/launch/cl_axes.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_TransposeSquares(A, G, N) \
  A(int, rows) A(int, columns) A(int, x_column_step) A(int, y_row_step) N(8, AxisPair, axis)
// clang-format on
CODL_CL_ARGS(TransposeSquares);

// Launches a work-group per square of rows (along y's axis `turned`) and columns (along its last),
// for each index along the other axes.
void set_squares(const LoopAxes& axes, int32_t turned, ClLaunch* out) {
  const int32_t last = axes.count - 1;
  LoopAxes others;
  int64_t other_count = 1;
  for (int32_t i = 0; i < last; ++i) {
    if (i == turned) continue;
    others.append(axes.extents[i], axes.steps[i][0], axes.steps[i][1]);
    other_count *= axes.extents[i];
  }
  out->define("AXES", others.count);
  out->define("SIDE", static_cast<int32_t>(kTransposeSide));
  out->local[0] = out->local[1] = static_cast<uint64_t>(kTransposeSide);
  out->local[2] = 1;
  out->local_bytes =
      static_cast<uint32_t>(kTransposeSide * (kTransposeSide + 1)) * kClLocalNumberBytes;
  out->global[0] = round_up(static_cast<uint64_t>(axes.extents[last]), kTransposeSide);
  out->global[1] = round_up(static_cast<uint64_t>(axes.extents[turned]), kTransposeSide);
  out->global[2] = static_cast<uint64_t>(other_count);
  TransposeSquaresArgs args = {.rows = static_cast<int32_t>(axes.extents[turned]),
                               .columns = static_cast<int32_t>(axes.extents[last]),
                               .x_column_step = static_cast<int32_t>(axes.steps[last][0]),
                               .y_row_step = static_cast<int32_t>(axes.steps[turned][1]),
                               .axis = {}};
  set_axes(others, args.axis);
  out->add(args);
}

}  // namespace

void transpose_launch(const StepShape& step, ClLaunch* out_launch) {
  const OperandShape& y = step.output();
  int32_t perm[kMaxRank];
  transpose_perm(step.params_as<TransposeParams>(), perm);
  int64_t x_strides[kMaxRank] = {};
  int64_t y_strides[kMaxRank] = {};
  strides_of(step.operands[0], x_strides);
  strides_of(y, y_strides);
  LoopAxes axes;
  for (int32_t i = 0; i < y.rank; ++i) axes.append(y.dims[i], x_strides[perm[i]], y_strides[i]);
  const int32_t turned = transpose_cl_axis(axes);
  if (turned >= 0)
    set_squares(axes, turned, out_launch);
  else
    launch_copy_axes(step, axes, 0, out_launch);
}

}  // namespace codl::kernels
