// Launches OpenCL kernels that step through an input in an order of its own; prelude.cl has their
// axes_offset().
#pragma once

#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/launch/cl_launch.h"

namespace codl::kernels {

// Elements of a piece: axes_pieces.cl.
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

// Describes a contiguous output as lines, and the axes around them.
struct ClLines {
  LoopAxes around;
  AxisPairArgs last = {1, 1, 1};  // the axis of a line
  int32_t pieces = 1;             // a line has so many
  int32_t item_count = 1;         // pieces of all lines
};

// Launches a work-item per piece of a line of the output, which `axes` steps through whole. Define:
// AXES, those around.
inline ClLines set_pieces(const StepShape& step, const LoopAxes& axes, ClLaunch* out) {
  ClLines lines = {.around = axes};
  if (axes.count > 0) {
    const int32_t last = --lines.around.count;
    lines.last = {static_cast<int32_t>(axes.extents[last]),
                  static_cast<int32_t>(axes.steps[last][0]),
                  static_cast<int32_t>(axes.steps[last][1])};
  }
  lines.pieces = static_cast<int32_t>(ceil_div(lines.last.extent, kClAxesWidth));
  out->define("AXES", lines.around.count);
  const int64_t line_count = element_count(step.output()) / lines.last.extent;
  lines.item_count = set_line(step, line_count * lines.pieces, out);
  return lines;
}

// Launches one work-item per piece of a Plain output that is a copy of elements of an input.
// `first` is the element of the input that is element 0 of the output.
inline void launch_copy_axes(const StepShape& step, const LoopAxes& axes, int64_t first,
                             ClLaunch* out) {
  const ClLines lines = set_pieces(step, axes, out);
  CopyAxesArgs args = {.item_count = lines.item_count,
                       .first = static_cast<int32_t>(first),
                       .pieces = lines.pieces,
                       .last = {lines.last.extent, lines.last.step0},
                       .axis = {}};
  set_axes(lines.around, 0, args.axis);
  out->add(args);
}

}  // namespace codl::kernels
