// Pool2d takes the maximum or average of a window that slides over the rows and columns of each
// channel.
//
//   x  [n, c, ih, iw]   Nhwc (CPU and buffer kernels) or Image2d (image kernel)
//   y  [n, c, oh, ow]   the layout of x; or with more channels, which are zero: both counts are
//                       then whole panels, and no part is of channels
//
// Output row o looks at input rows o * stride_h - pad_top + i * dilation_h, 0 <= i < kernel_h, as
// far as they are in [0, ih); columns alike. Max is over those taps. Average divides their sum by
// their number, or with count_include_pad by the taps in [-pad, extent + pad): in ceil_mode a
// window may run past the padded end, and what lies there counts nowhere (ONNX). oh and ow are the
// output operand's; ceil_mode itself changes nothing here.
//
// Every window has a tap inside the map: the contract refuses windows that begin behind it, or a
// padding as wide as the window, or padding with a dilation larger than the map.
// Windows of rows: x must hold the input rows of the part. Parts: Height, OutputChannel.
// Pad lanes: those of x are zero, and so become those of y. y must not overlap x. Nothing past the
// end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

// A unit of work has so many channels if there are too few rows to share out: four AVX-512 vectors.
inline constexpr int32_t kPool2dChannelBlock = 64;

// A step falls into pieces: (batch, output row) pairs, times blocks of channels if the pairs are
// few, as in global pooling.
struct Pool2dWork {
  Range rows;
  Range channels;  // channels of x; up to the padded count where the part has the last channel
  int32_t blocks;
  int64_t units;
  int32_t task_count;
};

// Returns how many channels y has behind those of x.
constexpr int32_t pool2d_added_channels(const OperandShape& x, const OperandShape& y) {
  return y.dims[1] - x.dims[1];
}

constexpr Pool2dWork pool2d_work(const Pool2dParams& params, SplitDim part_dim, Range part,
                                 const OperandShape& x, const OperandShape& y) {
  Pool2dWork work = {};
  work.rows = rows_of_part(part_dim, part, y);
  work.channels = channels_of_part(part_dim, part, y);
  if (work.channels.end == y.dims[1]) work.channels.end = padded_channels(y);
  work.channels.end -= pool2d_added_channels(x, y);
  const int64_t row_count = int64_t{y.dims[0]} * work.rows.count();
  work.blocks = row_count >= kMaxTasks
                    ? 1
                    : static_cast<int32_t>(ceil_div(work.channels.count(), kPool2dChannelBlock));
  work.units = row_count * work.blocks;
  // The number is a double: it is a product of five dims, of which only the size matters.
  const double taps = static_cast<double>(row_count) * y.dims[3] * work.channels.count() *
                      params.kernel_h * params.kernel_w;
  work.task_count =
      task_count_for(work.units, taps < kSmallStepElements ? 0 : int64_t{kSmallStepElements});
  return work;
}

// So many work-items of a GPU share one output of a large window. Global pooling of a map of 8 x 8
// is large: it has four taps for each of them. Common windows (2x2 to 5x5) and 7x7 keep one item
// each.
inline constexpr int32_t kPool2dTapSplit = 16;
constexpr bool pool2d_is_split(const Pool2dParams& params) {
  constexpr int64_t kLargeWindowTaps = 64;
  return int64_t{params.kernel_h} * params.kernel_w >= kLargeWindowTaps;
}

// True if a CPU step takes maxima along a row, of windows that share columns (but for scalar code).
constexpr bool pool2d_has_max_runs(const Pool2dParams& params) {
  return params.kind == kPool2dMax && params.kernel_h == 3 && params.kernel_w == 3 &&
         params.dilation_h == 1 && params.dilation_w == 1 && params.stride_w == params.stride_h &&
         (params.stride_w == 1 || params.stride_w == 2);
}

// A CPU run of 3x3 maxima takes so many outputs of a row: three rows of inputs under it stay in the
// first-level cache, with the outputs beside them. Runs of about equal length, not so short that
// the column before the first would count.
inline constexpr int32_t kPool2dMostRunOutputs = 32;
constexpr int32_t pool2d_run_outputs(int32_t columns, int32_t stride, int64_t pixel_bytes) {
  constexpr int64_t kRowsBytes = 24 * 1024;
  constexpr int64_t kMinOutputs = 4;
  const int64_t column_bytes = 3 * pixel_bytes;
  int64_t most = kRowsBytes / (column_bytes * stride);
  if (most < kMinOutputs) most = kMinOutputs;
  if (most > kPool2dMostRunOutputs) most = kPool2dMostRunOutputs;
  return static_cast<int32_t>(ceil_div(columns, ceil_div(columns, most)));
}

// Returns the input rows (or columns) that outputs [range.begin, range.end) look at, inside [0,
// in_extent).
constexpr Range pool2d_input_range(Range range, int32_t stride, int32_t dilation, int32_t kernel,
                                   int32_t pad, int32_t in_extent) {
  const int64_t begin = int64_t{range.begin} * stride - pad;
  const int64_t end = (int64_t{range.end} - 1) * stride - pad + int64_t{kernel - 1} * dilation + 1;
  return {static_cast<int32_t>(begin < 0 ? 0 : begin),
          static_cast<int32_t>(end > in_extent ? in_extent : end)};
}

// Describes, along one axis, the taps of output `o` that fall inside the map, and the divisor of an
// average that counts the padding.
struct PoolTaps {
  int32_t
      begin;  // taps [begin, end) of the kernel; the first is at input `start + begin * dilation`
  int32_t end;
  int32_t start;
  int32_t padded_count;
};

constexpr PoolTaps pool2d_taps(int32_t o, int32_t stride, int32_t dilation, int32_t kernel,
                               int32_t pad_begin, int32_t pad_end, int32_t in_extent) {
  PoolTaps taps = {};
  taps.start = o * stride - pad_begin;
  // Most outputs need no division.
  if (taps.start >= 0 && taps.start + (kernel - 1) * dilation < in_extent)
    return {0, kernel, taps.start, kernel};
  taps.begin = taps.start < 0 ? (-taps.start + dilation - 1) / dilation : 0;
  const int32_t inside = (in_extent - taps.start + dilation - 1) / dilation;
  taps.end = kernel < inside ? kernel : inside;
  const int32_t padded = (in_extent + pad_end - taps.start + dilation - 1) / dilation;
  taps.padded_count = kernel < padded ? kernel : padded;
  return taps;
}

void pool2d_ref(const KernelArgs& args);
void pool2d_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
