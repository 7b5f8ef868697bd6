// Holds launch geometry that the OpenCL kernels share. Everything is derived from a step that has
// passed its contract, so indices into an operand fit int32 (kMaxElements).
#pragma once

#include "kernels/common/contract/contract.h"
#include "kernels/common/launch/cl_args.def"

namespace codl::kernels {

// prelude.cl compares KIND with these numbers.
static_assert(kBinaryAdd == 1 && kBinarySub == 2 && kBinaryMul == 3 && kBinaryDiv == 4 &&
              kBinaryPow == 5 && kBinaryMin == 6 && kBinaryMax == 7 && kBinaryMod == 8 &&
              kBinaryFmod == 9 && kBinaryPRelu == 10);

// A work-item of a buffer kernel computes so many channels: the lanes of a float16.
inline constexpr int32_t kClLanes = 16;

// Numbers in local memory, staged operands and sums, are floats.
inline constexpr uint32_t kClLocalNumberBytes = sizeof(float);

// A group has so many work-items when the step names no tile. The number is fixed, because PoCL
// compiles every kernel anew for each local size it meets.
//   32 in a line: one warp of NVIDIA, a quarter or half of a wave of Adreno
//   4 x 4 x 4 in a grid: 64, a wave of Adreno and a multiple of Mali's; neighbours in all dims
//   share texels
inline constexpr uint64_t kClLineItems = 32;
inline constexpr uint64_t kClGridItems = 4;
// No tile has more: it is CL_DEVICE_MAX_WORK_GROUP_SIZE of NVIDIA, Adreno and most Malis. GpuFacts
// says if a GPU has less.
inline constexpr int32_t kClMaxGroupItems = 1024;

// Checks three numbers as a local size, those that a tile begins with. A kernel that computes in a
// line takes their product; one whose work-items share local memory keeps its own local size.
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

// A buffer kernel that computes 16 channels a work-item, or a quad of 4 where work-items have few
// registers, has a tile of these numbers, too: the local sizes, then the channels.
inline constexpr uint32_t kClLanesTileInts = 4;

// Returns whether the kernel works on buffers in chunks of channels, or of lanes of any shape.
constexpr bool has_cl_lanes(const KernelInfo& kernel) {
  return kernel.layout == Layout::Nhwc || kernel.layout == Layout::Any;
}

constexpr const char* check_cl_lanes_tile(const StepShape& step) {
  if (step.tile_count != kClLanesTileInts) return check_cl_tile(step);
  if (!has_cl_lanes(*step.kernel) || (step.tile[3] != kChannelPad && step.tile[3] != kClLanes))
    return "4 or 16 channels in a work-item on a buffer";
  return check_cl_local_sizes(step.tile);
}

// Returns the channels of a work-item: 4 on images.
constexpr int32_t cl_item_lanes(const StepShape& step) {
  if (step.kernel->layout == Layout::Image2d) return kChannelPad;
  return step.tile_count == kClLanesTileInts ? step.tile[3] : kClLanes;
}

// Structs of the lists of arguments, to be filled by name and given to ClLaunch::add().
#define CODL_ARG_MEMBER(type, name) type name;
#define CODL_ARG_GROUP(Group, name) Group##Args name;
#define CODL_ARG_GROUPS(count, Group, name) Group##Args name[count];
#define CODL_CL_GROUP(Group)             \
  struct Group##Args {                   \
    CODL_ARGS_##Group(CODL_ARG_MEMBER, ) \
  }
#define CODL_CL_ARGS(Kernel)                                             \
  struct Kernel##Args {                                                  \
    CODL_ARGS_##Kernel(CODL_ARG_MEMBER, CODL_ARG_GROUP, CODL_ARG_GROUPS) \
  }

CODL_CL_GROUP(Runs);
CODL_CL_GROUP(RunOperand);
CODL_CL_GROUP(Chunks);
CODL_CL_GROUP(NhwcInput);
CODL_CL_GROUP(NhwcOutput);
CODL_CL_GROUP(NhwcRows);
CODL_CL_GROUP(Texels);
CODL_CL_GROUP(PartImage);
CODL_CL_GROUP(HeldImage);
CODL_CL_GROUP(Filter);
CODL_CL_GROUP(Activation);
CODL_CL_GROUP(Axis);
CODL_CL_GROUP(AxisPair);
CODL_CL_ARGS(CopyAxes);

// Sets work-items 0 .. item_count - 1 in one dimension. Returns the count: the kernel checks
// get_global_id(0) against it.
inline int32_t set_line(const StepShape& step, int64_t item_count, ClLaunch* out) {
  uint64_t items = kClLineItems;
  if (step.tile_count >= 3)
    items = static_cast<uint64_t>(int64_t{step.tile[0]} * step.tile[1] * step.tile[2]);
  out->local[0] = items;
  out->local[1] = out->local[2] = 1;
  out->global[0] = round_up(static_cast<uint64_t>(item_count), items);
  out->global[1] = out->global[2] = 1;
  return static_cast<int32_t>(item_count);
}

// Work-items in three dimensions; the kernel checks each id against its extent.
inline void set_grid(const StepShape& step, int64_t x, int64_t y, int64_t z, ClLaunch* out) {
  const int64_t extents[3] = {x, y, z};
  for (uint32_t i = 0; i < 3; ++i) {
    out->local[i] = step.tile_count >= 3 ? static_cast<uint64_t>(step.tile[i]) : kClGridItems;
    out->global[i] = round_up(static_cast<uint64_t>(extents[i]), out->local[i]);
  }
}

// Counts the elements between neighbours of an Nhwc operand.
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

// Returns the elements from the memory of an Nhwc operand to row `row` of the value, which its
// window holds.
constexpr int32_t cl_row_offset(const OperandShape& shape, int32_t row) {
  return (row - shape.row_begin) * cl_strides(shape).row + shape.first_channel;
}

// Names the channels that the step writes: those in memory (pad lanes of the last channel included)
// and how many of them are channels of the value.
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

// Describes a copy or elementwise step between operands of y's dims and layout: batches of pixels
// of lanes that are neighbours in memory.
struct ClRuns {
  int32_t batch = 1;
  int32_t pixels = 1;
  int32_t stored_count = 0;  // lanes written
  int32_t valid_count = 0;   // lanes with values; the others become zero
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

// Launches one work-item per chunk of LANES lanes, a define, of the runs.
inline RunsArgs set_runs(const StepShape& step, const ClRuns& runs, ClLaunch* out) {
  const int32_t lanes = cl_item_lanes(step);
  const int64_t chunks = ceil_div(runs.stored_count, lanes);
  out->define("LANES", lanes);
  out->define("IS_ONE_RUN", runs.batch == 1 && runs.pixels == 1 ? 1 : 0);
  return {.item_count = set_line(step, chunks * runs.pixels * runs.batch, out),
          .chunks = static_cast<int32_t>(chunks),
          .pixels = runs.pixels,
          .stored_count = runs.stored_count,
          .valid_count = runs.valid_count};
}

inline RunOperandArgs run_operand(const StepShape& step, const OperandShape& operand) {
  const OperandShape& y = step.output();
  if (y.layout != Layout::Nhwc) return {};
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  return {.offset = cl_row_offset(operand, rows.begin) + cl_channels(step).begin,
          .batch_stride = cl_strides(operand).batch,
          .pixel_stride = cl_strides(operand).pixel};
}

// For kernels with an id that counts the rows of all batches of a map: BATCH_OF() in prelude.cl.
inline void define_batch(const OperandShape& map, ClLaunch* out) {
  out->define("IS_ONE_BATCH", map.dims[0] == 1 ? 1 : 0);
}

// Launches one work-item per texel in `texels` of each pixel of `rows` rows of each batch of an
// image.
inline TexelsArgs set_texels(const StepShape& step, const OperandShape& image, Range texels,
                             int32_t rows, ClLaunch* out) {
  const int64_t batch_rows = int64_t{image.dims[0]} * rows;
  define_batch(image, out);
  set_grid(step, texels.count(), image.dims[3], batch_rows, out);
  return {.texels = texels.count(),
          .columns = image.dims[3],
          .batch_rows = static_cast<int32_t>(batch_rows),
          .first_texel = texels.begin,
          .rows = rows,
          .channels = image.dims[1]};
}

// Launches one work-item per texel of the part of an image y.
inline TexelsArgs set_texels(const StepShape& step, ClLaunch* out) {
  const OperandShape& y = step.output();
  const ClChannels channels = cl_channels(step);
  const int32_t first = channels.begin / kChannelPad;
  return set_texels(step, y, {first, first + channels.stored_count / kChannelPad},
                    rows_of_part(step.part_dim, step.part, y).count(), out);
}

inline PartImageArgs part_image(const StepShape& step, const OperandShape& shape) {
  return {
      .first_row = rows_of_part(step.part_dim, step.part, step.output()).begin - shape.row_begin,
      .rows_held = rows_held(shape),
      .texels = pixel_elements(shape) / kChannelPad,
      .first_texel = shape.first_channel / kChannelPad};
}

inline HeldImageArgs held_image(const OperandShape& shape) {
  return {.row_begin = shape.row_begin,
          .rows_held = rows_held(shape),
          .texels = pixel_elements(shape) / kChannelPad,
          .first_texel = shape.first_channel / kChannelPad};
}

inline NhwcInputArgs nhwc_input(const OperandShape& shape) {
  const ClStrides strides = cl_strides(shape);
  return {.offset = shape.first_channel,
          .row_begin = shape.row_begin,
          .batch_stride = strides.batch,
          .row_stride = strides.row,
          .pixel_stride = strides.pixel};
}

inline NhwcRowsArgs nhwc_rows(const StepShape& step, const OperandShape& shape) {
  const Range rows = rows_of_part(step.part_dim, step.part, step.output());
  return {.offset = cl_row_offset(shape, rows.begin), .batch_stride = cl_strides(shape).batch};
}

inline NhwcOutputArgs nhwc_output(const StepShape& step) {
  const ClStrides strides = cl_strides(step.output());
  return {.offset = nhwc_rows(step, step.output()).offset,
          .batch_stride = strides.batch,
          .row_stride = strides.row,
          .pixel_stride = strides.pixel};
}

// Launches one work-item per pixel and chunk of LANES channels, a define, of the part of an Nhwc y.
inline ChunksArgs set_chunks(const StepShape& step, ClLaunch* out) {
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const ClChannels channels = cl_channels(step);
  const int32_t lanes = cl_item_lanes(step);
  const int64_t chunks = ceil_div(channels.stored_count, lanes);
  out->define("LANES", lanes);
  return {.item_count = set_line(step, chunks * y.dims[3] * rows.count() * y.dims[0], out),
          .chunks = static_cast<int32_t>(chunks),
          .first_channel = channels.begin,
          .rows = rows.count(),
          .first_row = rows.begin,
          .out_w = y.dims[3]};
}

template <typename Params>
FilterArgs filter_args(const Params& params, int32_t kernel_h, int32_t kernel_w) {
  return {.kernel_h = kernel_h,
          .kernel_w = kernel_w,
          .stride_h = params.stride_h,
          .stride_w = params.stride_w,
          .dilation_h = params.dilation_h,
          .dilation_w = params.dilation_w,
          .pad_top = params.pad_top,
          .pad_left = params.pad_left};
}

template <typename Params>
ActivationArgs activation_args(const Params& params) {
  return {.alpha = params.activation_alpha, .beta = params.activation_beta};
}

}  // namespace codl::kernels
