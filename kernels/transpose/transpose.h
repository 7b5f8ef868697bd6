// Transpose puts the axes of x in another order: y.dims[i] = x.dims[perm_i].
//
//   x, y  Plain, one dtype (f32, or any on the kernel of any dtype), the same rank, 0 to 8. y must
//         not overlap x.
//
// perm_0 ... perm_(rank-1) name each axis of x once. No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

constexpr void transpose_perm(const TransposeParams& params, int32_t* perm) {
  const int32_t values[kMaxRank] = {params.perm_0, params.perm_1, params.perm_2, params.perm_3,
                                    params.perm_4, params.perm_5, params.perm_6, params.perm_7};
  for (int32_t i = 0; i < kMaxRank; ++i) perm[i] = values[i];
}

// A unit of work has so many elements.
inline constexpr int64_t kTransposeBlock = 4096;

constexpr int32_t transpose_task_count(int64_t elements) {
  return task_count_for(ceil_div(elements, kTransposeBlock), elements);
}

// A work-group turns a square of this side in local memory: 64 bytes of a line of x and of y, and
// 256 work-items, the least that the devices in use allow for such a kernel.
inline constexpr int64_t kTransposeSide = 16;

// The axis of y along which x is contiguous, if both it and y's last are long enough for squares,
// and there are not too many of them; else -1.
constexpr int32_t transpose_cl_axis(const LoopAxes& axes) {
  // A dim other than the first has this limit (NVIDIA, as in CUDA).
  constexpr int64_t kMaxGroups = 65535;
  const int32_t last = axes.count - 1;
  if (last < 1 || axes.extents[last] < kTransposeSide / 2) return -1;
  int32_t turned = -1;
  int64_t other_count = 1;
  for (int32_t i = 0; i < last; ++i) {
    if (axes.steps[i][0] == 1)
      turned = i;
    else
      other_count *= axes.extents[i];
  }
  if (turned < 0 || axes.extents[turned] < kTransposeSide / 2) return -1;
  const bool fits = other_count <= kMaxGroups && axes.extents[turned] / kTransposeSide < kMaxGroups;
  return fits ? turned : -1;
}

void transpose_ref(const KernelArgs& args);
void transpose_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
