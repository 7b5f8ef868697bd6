// GridSample takes pixels of a map at places that a grid names.
//
//   x     [n, c, s...]   rank 3 to 5
//   grid  [n, o..., r]   r = number of spatial axes; the last number is of the first axis of x
//   y     [n, c, o...]
//
// All Plain f32. The grid's numbers go from -1 to 1 across an axis of x: aligns_corners, from the
// center of the first element to the center of the last, else from border to border. With p the
// position so found:
//   Nearest  the element at p rounded, of two equally near ones the even
//   Linear   floor(p) and the next, by distance
//   Cubic    floor(p) - 1 ... floor(p) + 2, Keys' cubic with coefficient -0.75
// Outside x: Zeros gives zero, Border the element at the edge, Reflection goes back inside as often
// as it takes. Positions that are no numbers count as outside.
//
// Windows of rows and parts: none. y must not overlap x or grid. Nothing past the end is read,
// whatever the grid holds.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

inline constexpr int32_t kGridSampleAxes = 3;

constexpr int32_t grid_sample_taps(int32_t kind) {
  return kind == kGridSampleNearest ? 1 : kind == kGridSampleLinear ? 2 : 4;
}

void grid_sample_ref(const KernelArgs& args);

}  // namespace codl::kernels
