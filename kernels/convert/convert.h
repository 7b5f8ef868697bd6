// Convert copies a value to another form, another window of rows, or another memory.
//
//   x, y  the same dims; each is f32, f16 or quantised bytes, of convert_any_cpu both of one dtype
//
//   convert_f32_cpu            Plain or Nhwc  ->  Plain or Nhwc
//   convert_f32_cl_buffer      Plain or Nhwc  ->  Plain or Nhwc
//   convert_f32_cl_to_image    Plain or Nhwc  ->  Image2d
//   convert_f32_cl_from_image  Image2d        ->  Plain or Nhwc
//   convert_any_cpu            Plain          ->  Plain, any dtype, no part
//
// A rank other than 4: Plain to Plain; no part but columns of a matrix, [m, n] being [m, n, 1, 1]
// then. Rank 4: the part's rows or channels are copied (by
// default all that y holds), and nothing else of y is written: this is also how the processors
// transfer rows of a height split and channels of an output-channel split. Windows of rows: x and y
// hold the rows of the part. Pad lanes of an Nhwc or Image2d y are written as zero with the last
// channel. y must not overlap x. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

// A unit of work has so many elements if the rank is not 4.
inline constexpr int64_t kConvertPlainBlock = 4096;

// A step falls into pieces: (batch, row) pairs, or blocks of a tensor whose rank is not 4.
struct ConvertWork {
  Range rows;
  Range channels;
  int64_t units;
  int32_t task_count;
};

// The shape a step works on: a matrix with a part is [m, n, 1, 1].
constexpr OperandShape convert_shape(SplitDim part_dim, OperandShape shape) {
  if (part_dim != SplitDim::None && shape.rank == 2) {
    shape.rank = 4;
    shape.dims[2] = shape.dims[3] = 1;
  }
  return shape;
}

constexpr ConvertWork convert_work(SplitDim part_dim, Range part, const OperandShape& output) {
  const OperandShape y = convert_shape(part_dim, output);
  ConvertWork work = {};
  if (y.rank != 4) {
    work.units = ceil_div(element_count(y), kConvertPlainBlock);
    work.task_count = task_count_for(work.units, element_count(y));
    return work;
  }
  work.rows = rows_of_part(part_dim, part, y);
  work.channels = channels_of_part(part_dim, part, y);
  work.units = int64_t{y.dims[0]} * work.rows.count();
  work.task_count = task_count_for(work.units, work.units * y.dims[3] * work.channels.count());
  return work;
}

// Returns how many pixels a CPU step does all channels of before the next pixels begin (of
// `pixel_bytes` in Nhwc): so many that prefetchers follow the lines of the planes, so few that
// the neighbours of a line that they fetch are still in the first-level cache when their channels'
// turn comes.
constexpr int64_t convert_block_pixels(int64_t pixel_bytes) {
  constexpr int64_t kBlockBytes = 16 * 1024;
  constexpr int64_t kMinPixels = 64;
  const int64_t pixels = kBlockBytes / pixel_bytes / kMinPixels;
  return pixels < 1 ? kMinPixels : pixels * kMinPixels;
}

// Cache lines of the output are fetched by the CPU kernel so many pixels before they are written:
// with stores alone, too few are on their way from the second-level cache where they do not follow
// each other.
inline constexpr int64_t kConvertPixelsAhead = 16;

void convert_ref(const KernelArgs& args);
void convert_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
