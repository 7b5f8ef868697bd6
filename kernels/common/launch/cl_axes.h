// Launches of OpenCL kernels that step through an input in an order of its own, see axes_offset()
// in prelude.cl.
#pragma once

#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/launch/cl_launch.h"

namespace codl::kernels {

// Elements a work-item moves at once where they are neighbours on both sides.
inline constexpr int32_t kClAxesWidth = 4;

// Scalars: extent and step (of input `input` of `axes`) of eight axes, the unused ones 1 and 0.
inline void add_axes(const LoopAxes& axes, int32_t input, ClLaunch* out) {
  for (int32_t i = 0; i < kMaxRank; ++i) {
    out->add_int(i < axes.count ? static_cast<int32_t>(axes.extents[i]) : 1);
    out->add_int(i < axes.count ? static_cast<int32_t>(axes.steps[i][input]) : 0);
  }
}

// One work-item per WIDTH neighbours of a Plain output, which `axes` steps through whole. `first`:
// the element of the input that is element 0 of the output. Defines: AXES, WIDTH. Scalars:
// item_count, first, the axes.
inline void set_axes(const StepShape& step, const LoopAxes& axes, int64_t first, ClLaunch* out) {
  const bool is_wide =
      axes.count > 0 && axes.last_step(0) == 1 && axes.extents[axes.count - 1] % kClAxesWidth == 0;
  const int32_t width = is_wide ? kClAxesWidth : 1;
  out->define("AXES", axes.count);
  out->define("WIDTH", width);
  set_line(step, element_count(step.output()) / width, out);
  out->add_int(static_cast<int32_t>(first));
  add_axes(axes, 0, out);
}

}  // namespace codl::kernels
