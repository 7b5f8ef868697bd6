// Launch geometry that the OpenCL kernels share. Everything is derived from a step that has passed
// its contract, so indices into an operand fit int32 (kMaxElements).
#pragma once

#include "kernels/common/contract/contract.h"

namespace codl::kernels {

// prelude.cl compares KIND with these numbers.
static_assert(kBinaryAdd == 1 && kBinarySub == 2 && kBinaryMul == 3 && kBinaryDiv == 4 &&
              kBinaryPow == 5 && kBinaryMin == 6 && kBinaryMax == 7 && kBinaryMod == 8 &&
              kBinaryFmod == 9 && kBinaryPRelu == 10);

// Channels of one work-item of a buffer kernel: lanes of a float16.
inline constexpr int32_t kClLanes = 16;

// Work-items of a group when the step names no tile. A fixed number, because PoCL compiles every
// kernel anew for each local size it meets.
//   32 in a line: one warp of NVIDIA, a quarter or half of a wave of Adreno
//   4 x 4 x 4 in a grid: 64, a wave of Adreno and a multiple of Mali's; neighbours in all dims
//   share texels
inline constexpr uint64_t kClLineItems = 32;
inline constexpr uint64_t kClGridItems = 4;
// No tile has more: it is CL_DEVICE_MAX_WORK_GROUP_SIZE of NVIDIA, Adreno and most Malis. GpuFacts
// says if a GPU has less.
inline constexpr int32_t kClMaxGroupItems = 1024;

// Three numbers as a local size, those that a tile begins with. A kernel that computes in a line
// takes their product; one whose work-items share local memory keeps its own local size.
constexpr const char* check_cl_local_sizes(const int32_t* sizes) {
  int64_t items = 1;
  for (uint32_t i = 0; i < 3; ++i) {
    if (sizes[i] < 1 || sizes[i] > kClMaxGroupItems) return "local sizes of 1 to 1024";
    items *= sizes[i];
  }
  return items <= kClMaxGroupItems ? nullptr : "at most 1024 work-items in a group";
}

// Tile of a GPU kernel that has no other numbers: none, or the local size.
constexpr const char* check_cl_tile(const StepShape& step) {
  if (step.tile_count == 0) return nullptr;
  if (step.tile_count != 3) return "no tile, or the three local sizes, for a GPU kernel";
  return check_cl_local_sizes(step.tile);
}

// Work-items 0 .. item_count - 1 in one dimension. The kernel checks get_global_id(0) against the
// count, which is its first scalar.
inline void set_line(const StepShape& step, int64_t item_count, ClLaunch* out) {
  uint64_t items = kClLineItems;
  if (step.tile_count >= 3)
    items = static_cast<uint64_t>(int64_t{step.tile[0]} * step.tile[1] * step.tile[2]);
  out->local[0] = items;
  out->local[1] = out->local[2] = 1;
  out->global[0] = round_up(static_cast<uint64_t>(item_count), items);
  out->global[1] = out->global[2] = 1;
  out->add_int(static_cast<int32_t>(item_count));
}

// Work-items in three dimensions; the kernel checks each id against its extent, which are its first
// three scalars.
inline void set_grid(const StepShape& step, int64_t x, int64_t y, int64_t z, ClLaunch* out) {
  const int64_t extents[3] = {x, y, z};
  for (uint32_t i = 0; i < 3; ++i) {
    out->local[i] = step.tile_count == 3 ? static_cast<uint64_t>(step.tile[i]) : kClGridItems;
    out->global[i] = round_up(static_cast<uint64_t>(extents[i]), out->local[i]);
    out->add_int(static_cast<int32_t>(extents[i]));
  }
}

// Elements between neighbours of an Nhwc operand.
struct ClStrides {
  int32_t batch;
  int32_t row;
  int32_t pixel;
};

constexpr ClStrides cl_strides(const OperandShape& shape) {
  ClStrides strides = {};
  strides.pixel = pixel_elements(shape);
  strides.row = strides.pixel * shape.dims[3];
  strides.batch = strides.row * rows_held(shape);
  return strides;
}

// Elements from the memory of an Nhwc operand to row `row` of the value, which its window holds.
constexpr int32_t cl_row_offset(const OperandShape& shape, int32_t row) {
  return (row - shape.row_begin) * cl_strides(shape).row + shape.first_channel;
}

// Channels the step writes, those in memory (pad lanes of the last channel included) and how many
// of them are channels of the value.
struct ClChannels {
  int32_t begin;
  int32_t stored_count;
  int32_t valid_count;
};

constexpr ClChannels cl_channels(const StepShape& step) {
  const Range part = channels_of_part(step.part_dim, step.part, step.output());
  const int32_t end = part.end == step.output().dims[1] ? padded_channels(step.output()) : part.end;
  return {part.begin, end - part.begin, part.count()};
}

// A copy or elementwise step between operands of y's dims and layout: batches of pixels of lanes
// that are neighbours in memory.
struct ClRuns {
  int32_t batch = 1;
  int32_t pixels = 1;
  int32_t stored_count = 0;  // lanes written
  int32_t valid_count = 0;   // of them; the others become zero

  int64_t chunks() const { return ceil_div(stored_count, kClLanes); }
};

// `may_join`: without pad lanes and windows of channels all pixels of a batch may become one run;
// not for a kernel that must know which channel a lane is.
constexpr ClRuns cl_runs(const StepShape& step, bool may_join) {
  const OperandShape& y = step.output();
  ClRuns runs = {};
  if (y.layout != Layout::Nhwc) {
    runs.stored_count = runs.valid_count = static_cast<int32_t>(element_count(y));
    return runs;
  }
  const ClChannels channels = cl_channels(step);
  runs.batch = y.dims[0];
  runs.pixels = rows_of_part(step.part_dim, step.part, y).count() * y.dims[3];
  runs.stored_count = channels.stored_count;
  runs.valid_count = channels.valid_count;
  for (uint32_t i = 0; i < step.operand_count; ++i)
    may_join = may_join && step.operands[i].pixel_stride == 0;
  if (may_join && runs.valid_count == padded_channels(y)) {
    runs.stored_count = runs.valid_count = runs.pixels * runs.valid_count;
    runs.pixels = 1;
  }
  return runs;
}

// One work-item per chunk of 16 lanes of the runs. Scalars: item_count, chunks, pixels,
// stored_count, valid_count.
inline void set_runs(const StepShape& step, const ClRuns& runs, ClLaunch* out) {
  set_line(step, runs.chunks() * runs.pixels * runs.batch, out);
  out->add_int(static_cast<int32_t>(runs.chunks()));
  out->add_int(runs.pixels);
  out->add_int(runs.stored_count);
  out->add_int(runs.valid_count);
}

// Where an operand of y's dims and layout has its first run, and the distances between its batches
// and its pixels. Scalars: offset, batch_stride, pixel_stride.
inline void add_runs_operand(const StepShape& step, const OperandShape& operand, ClLaunch* out) {
  const OperandShape& y = step.output();
  const bool is_nhwc = y.layout == Layout::Nhwc;
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  out->add_int(is_nhwc ? cl_row_offset(operand, rows.begin) + cl_channels(step).begin : 0);
  out->add_int(is_nhwc ? cl_strides(operand).batch : 0);
  out->add_int(is_nhwc ? cl_strides(operand).pixel : 0);
}

// One work-item per texel of the part of an image y. Scalars: texels, columns, batch_rows (the
// extents), first_texel, rows, channels (of the whole value).
inline void set_texels(const StepShape& step, ClLaunch* out) {
  const OperandShape& y = step.output();
  const ClChannels channels = cl_channels(step);
  const int32_t rows = rows_of_part(step.part_dim, step.part, y).count();
  set_grid(step, channels.stored_count / kChannelPad, y.dims[3], int64_t{y.dims[0]} * rows, out);
  out->add_int(channels.begin / kChannelPad);
  out->add_int(rows);
  out->add_int(y.dims[1]);
}

// Where an image operand has the first row of the part. Scalars: first_row (in the image, of batch
// 0), rows_held.
inline void add_image_rows(const StepShape& step, const OperandShape& operand, ClLaunch* out) {
  out->add_int(rows_of_part(step.part_dim, step.part, step.output()).begin - operand.row_begin);
  out->add_int(rows_held(operand));
}

// Where an Nhwc input is. Scalars: offset, row_begin, batch_stride, row_stride, pixel_stride.
inline void add_nhwc_input(const OperandShape& shape, ClLaunch* out) {
  const ClStrides strides = cl_strides(shape);
  out->add_int(shape.first_channel);
  out->add_int(shape.row_begin);
  out->add_int(strides.batch);
  out->add_int(strides.row);
  out->add_int(strides.pixel);
}

// Where the texels of a pixel are. Scalars: texels from pixel to pixel, the first.
inline void add_pixel_texels(const OperandShape& shape, ClLaunch* out) {
  out->add_int(pixel_elements(shape) / kChannelPad);
  out->add_int(shape.first_channel / kChannelPad);
}

// Where an Nhwc operand of y's dims has the first row of the part. Scalars: offset, batch_stride.
inline void add_nhwc_rows(const StepShape& step, const OperandShape& shape, ClLaunch* out) {
  out->add_int(cl_row_offset(shape, rows_of_part(step.part_dim, step.part, step.output()).begin));
  out->add_int(cl_strides(shape).batch);
}

// The same of y, and row_stride.
inline void add_nhwc_output(const StepShape& step, ClLaunch* out) {
  add_nhwc_rows(step, step.output(), out);
  out->add_int(cl_strides(step.output()).row);
}

// One work-item per pixel and chunk of 16 channels of the part of an Nhwc y. Scalars: item_count,
// chunks, first_channel, rows, first_row, out_w. Returns the number of work-items.
inline int64_t set_chunks(const StepShape& step, ClLaunch* out) {
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const ClChannels channels = cl_channels(step);
  const int64_t chunks = ceil_div(channels.stored_count, kClLanes);
  const int64_t items = chunks * y.dims[3] * rows.count() * y.dims[0];
  set_line(step, items, out);
  out->add_int(static_cast<int32_t>(chunks));
  out->add_int(channels.begin);
  out->add_int(rows.count());
  out->add_int(rows.begin);
  out->add_int(y.dims[3]);
  return items;
}

// What a kernel on texels that reads other rows of x than it writes knows of them. Scalars:
// y_first_row, y_rows_held, first_row (of the part, global), x_row_begin, x_rows_held, and of x
// and of y those of add_pixel_texels().
inline void add_image_window(const StepShape& step, const OperandShape& x, ClLaunch* out) {
  add_image_rows(step, step.output(), out);
  out->add_int(rows_of_part(step.part_dim, step.part, step.output()).begin);
  out->add_int(x.row_begin);
  out->add_int(rows_held(x));
  add_pixel_texels(x, out);
  add_pixel_texels(step.output(), out);
}

// How a window moves over x. Scalars: stride, dilation (h, w), pad_top, pad_left.
template <typename Params>
void add_window(const Params& params, ClLaunch* out) {
  out->add_int(params.stride_h);
  out->add_int(params.stride_w);
  out->add_int(params.dilation_h);
  out->add_int(params.dilation_w);
  out->add_int(params.pad_top);
  out->add_int(params.pad_left);
}

// The last scalars of a kernel that activates what it stores.
template <typename Params>
void add_activation(const Params& params, ClLaunch* out) {
  out->add_float(params.activation_alpha);
  out->add_float(params.activation_beta);
}

}  // namespace codl::kernels
