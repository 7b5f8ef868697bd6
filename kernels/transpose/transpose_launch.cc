#include "kernels/common/cl_axes.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels {
namespace {

// Side of the square that a work-group turns in local memory: 64 bytes of a line of x and of y, and
// 256 work-items, the least that the devices in use allow for such a kernel.
constexpr int64_t kSide = 16;

// Work-groups along a dim but the first (NVIDIA, as in CUDA).
constexpr int64_t kMaxGroups = 65535;

// The axis of y along which x is contiguous, if both it and y's last are long enough for squares,
// and there are not too many of them; else -1.
int32_t axis_to_turn(const LoopAxes& axes) {
  const int32_t last = axes.count - 1;
  if (last < 1 || axes.extents[last] < kSide / 2) return -1;
  int32_t turned = -1;
  int64_t other_count = 1;
  for (int32_t i = 0; i < last; ++i) {
    if (axes.steps[i][0] == 1)
      turned = i;
    else
      other_count *= axes.extents[i];
  }
  if (turned < 0 || axes.extents[turned] < kSide / 2) return -1;
  const bool fits = other_count <= kMaxGroups && axes.extents[turned] / kSide < kMaxGroups;
  return fits ? turned : -1;
}

// A work-group per square of rows (along y's axis `turned`) and columns (along its last), for each
// index along the other axes.
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
  out->define("SIDE", static_cast<int32_t>(kSide));
  out->local[0] = out->local[1] = static_cast<uint64_t>(kSide);
  out->local[2] = 1;
  out->global[0] = round_up(static_cast<uint64_t>(axes.extents[last]), kSide);
  out->global[1] = round_up(static_cast<uint64_t>(axes.extents[turned]), kSide);
  out->global[2] = static_cast<uint64_t>(other_count);
  out->add_int(static_cast<int32_t>(axes.extents[turned]));
  out->add_int(static_cast<int32_t>(axes.extents[last]));
  out->add_int(static_cast<int32_t>(axes.steps[last][0]));
  out->add_int(static_cast<int32_t>(axes.steps[turned][1]));
  add_axes(others, 0, out);
  for (int32_t i = 0; i < kMaxRank; ++i)
    out->add_int(i < others.count ? static_cast<int32_t>(others.steps[i][1]) : 0);
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
  const int32_t turned = axis_to_turn(axes);
  if (turned >= 0)
    set_squares(axes, turned, out_launch);
  else
    set_axes(step, axes, 0, out_launch);
}

}  // namespace codl::kernels
