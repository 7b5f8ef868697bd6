// Concat joins the inputs along an axis.
//
//   x0, x1, ... x14  1 to 15 inputs; dims of y but for `axis`, where theirs add up to y's
//   y                Plain of any rank >= 1 and any axis; Nhwc; or Image2d (image kernel)
//
// Every input has y's layout and dtype: f32, or any on the kernel of any dtype, which is Plain
// only. Nhwc on the CPU kernel: any axis. GPU kernels: of buffers and of images axis 1 (channels),
// the latter at most 8 inputs; of runs every axis of a Plain output and all but axis 1 of an Nhwc
// one. Channels need not be multiples of 4: the real channels of the inputs follow each other
// without gaps, their pad lanes are not copied, the pad lanes of y are written as zero. Windows of
// rows: axis 1 and 3: every input holds the rows of the part. Axis 0 and 2, and the kernel of runs:
// every operand holds all its rows. Parts: Height for Nhwc and Image2d along axis 1 or 3. Nothing
// past the end is read. y must not overlap an input, but for one that is a window of y where it
// would be copied to (is_window_of(), axis 1): that is left as it is, and no argument of a GPU
// kernel, whose other inputs are no windows. verify_plan sees to it that a window with y's pixel
// stride is there.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

// The embedded profile grants at least so many (CL_DEVICE_MAX_READ_IMAGE_ARGS).
inline constexpr uint32_t kConcatImageInputs = 8;

// A unit of work of a Plain step has so many elements.
inline constexpr int64_t kConcatPlainBlock = 4096;

// A step falls into pieces: (batch, output row) pairs, or blocks of a Plain output.
struct ConcatWork {
  Range rows;
  int64_t units;
  int32_t task_count;
};

// Returns how much of y's dim along the axis is not in its place.
inline int64_t copied_channels(const StepShape& step) {
  int64_t count = step.output().dims[step.params_as<ConcatParams>().axis];
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    if (is_window_of(step.operands[i], step.output())) count -= step.operands[i].dims[1];
  return count;
}

constexpr ConcatWork concat_work(SplitDim part_dim, Range part, const OperandShape& y) {
  ConcatWork work = {};
  if (!has_pixels(y)) {
    work.units = ceil_div(element_count(y), kConcatPlainBlock);
    work.task_count = task_count_for(work.units, element_count(y));
    return work;
  }
  work.rows = rows_of_part(part_dim, part, y);
  work.units = int64_t{y.dims[0]} * work.rows.count();
  work.task_count = task_count_for(work.units, work.units * y.dims[3] * padded_channels(y));
  return work;
}

void concat_ref(const KernelArgs& args);
void concat_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
