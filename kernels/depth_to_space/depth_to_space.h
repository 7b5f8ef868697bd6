// DepthToSpace turns blocks of channels into blocks of pixels; it is also the last step of a
// transposed convolution, which then crops.
//
//   x  [n, c * block_h * block_w, h, w]
//   y  [n, c, oh, ow]
//
// With Y the map of [n, c, h * block_h, w * block_w] whose pixel (i * block_h + a, j * block_w + b)
// of channel k is pixel (i, j) of x's channel
//   (k * block_h + a) * block_w + b   is_channel_major
//   (a * block_w + b) * c + k         else
// y is Y from row crop_top and column crop_left on, and inside Y.
//
// depth_to_space_any_cpu: Plain, any dtype. The kernels of f32: Nhwc. Windows of rows: x must hold
// the rows of the part, see depth_to_space_input_range(). Parts: Height; OutputChannel. Pad lanes
// of y are written as zero. y must not overlap x. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

// Returns true if all of y comes from x. `x` and `y` are dims of rank 4.
constexpr bool depth_to_space_is_inside(const DepthToSpaceParams& params, const int32_t* x,
                                        const int32_t* y) {
  return int64_t{params.crop_top} + y[2] <= int64_t{x[2]} * params.block_h &&
         int64_t{params.crop_left} + y[3] <= int64_t{x[3]} * params.block_w;
}

// Returns the input rows that output rows `rows` (not empty) come from.
constexpr Range depth_to_space_input_range(const DepthToSpaceParams& params, Range rows) {
  const int64_t begin = (int64_t{rows.begin} + params.crop_top) / params.block_h;
  const int64_t end = (int64_t{rows.end} - 1 + params.crop_top) / params.block_h + 1;
  return {static_cast<int32_t>(begin), static_cast<int32_t>(end)};
}

// Says where an output channel starts in x's channels, and how far apart the channels of neighbours
// are.
struct DepthChannels {
  int32_t first;  // where output channel 0 is, for pixel (a, b) of a block
  int32_t step;
};

constexpr DepthChannels depth_channels(const DepthToSpaceParams& params, int32_t channels,
                                       int32_t a, int32_t b) {
  const int32_t place = a * params.block_w + b;
  if (params.is_channel_major != 0) return {place, params.block_h * params.block_w};
  return {place * channels, 1};
}

// A step of the f32 kernels falls into pieces: (batch, output row) pairs.
struct DepthToSpaceWork {
  Range rows;
  Range channels;
  int64_t units;
  int32_t task_count;
};

constexpr DepthToSpaceWork depth_to_space_work(SplitDim part_dim, Range part,
                                               const OperandShape& y) {
  DepthToSpaceWork work = {};
  work.rows = rows_of_part(part_dim, part, y);
  work.channels = channels_of_part(part_dim, part, y);
  work.units = int64_t{y.dims[0]} * work.rows.count();
  work.task_count = task_count_for(work.units, work.units * y.dims[3] * work.channels.count());
  return work;
}

void depth_to_space_ref(const KernelArgs& args);
void depth_to_space_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
