// Launches OpenCL kernels that step through an input in an order of its own; prelude.cl has their
// axes_offset().
#pragma once

#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/launch/cl_launch.h"

namespace codl::kernels {

// Elements a work-item moves at once where they are neighbours on both sides.
inline constexpr int32_t kClAxesWidth = 4;

// Sets the axes with the step in input `input`; unused ones get extent 1 and step 0.
inline void set_axes(const LoopAxes& axes, int32_t input, AxisArgs (&out)[kMaxRank]) {
  for (int32_t i = 0; i < kMaxRank; ++i)
    out[i] = i < axes.count ? AxisArgs{static_cast<int32_t>(axes.extents[i]),
                                       static_cast<int32_t>(axes.steps[i][input])}
                            : AxisArgs{1, 0};
}

// Sets the axes with the steps in both inputs.
inline void set_axes(const LoopAxes& axes, AxisPairArgs (&out)[kMaxRank]) {
  for (int32_t i = 0; i < kMaxRank; ++i)
    out[i] = i < axes.count ? AxisPairArgs{static_cast<int32_t>(axes.extents[i]),
                                           static_cast<int32_t>(axes.steps[i][0]),
                                           static_cast<int32_t>(axes.steps[i][1])}
                            : AxisPairArgs{1, 0, 0};
}

// Launches one work-item per WIDTH neighbours of a Plain output, which `axes` steps through whole.
// `first` is the element of the input that is element 0 of the output. Defines: AXES, WIDTH.
inline void launch_copy_axes(const StepShape& step, const LoopAxes& axes, int64_t first,
                             ClLaunch* out) {
  const bool is_wide =
      axes.count > 0 && axes.last_step(0) == 1 && axes.extents[axes.count - 1] % kClAxesWidth == 0;
  const int32_t width = is_wide ? kClAxesWidth : 1;
  out->define("AXES", axes.count);
  out->define("WIDTH", width);
  CopyAxesArgs args = {.item_count = set_line(step, element_count(step.output()) / width, out),
                       .first = static_cast<int32_t>(first),
                       .axis = {}};
  set_axes(axes, 0, args.axis);
  out->add(args);
}

}  // namespace codl::kernels
