// Conv2d is a 2-D convolution: y = activation(conv(x, w) + bias + residual). All operands are f32;
// of conv2d_f32_cpu, all but the bias may be f16. Of conv2d_q8_cpu, x and w are i8, and the
// residual and y i8 or f32; an output is a sum of at most 2^16 products.
//
//   x         [n, ic, ih, iw]         Nhwc (Image2d for the image kernel)
//   w         [oc, ic/groups, kh, kw] Packed, see below
//   bias      [oc]                    Packed: [round_up(oc, 16)], zero past oc
//   residual  [n, oc, oh, ow]         as y; present when has_residual is 1; holds the part's rows
//   y         [n, oc, oh, ow]         Nhwc (Image2d); must not alias an input, but may be the
//                                     residual
//
// oh = (ih + pad_top + pad_bottom - ((kh - 1) dilation_h + 1)) / stride_h + 1, ow likewise. x holds
// the rows that the part's rows reach, clipped to the map.
//
// Packed w: [groups][ceil(og/16)][kh][kw][ic/groups][16] with og = oc/groups; lanes past og are
// zero. So a panel never spans two groups, and output channel c lies in panel
// (c / og) * ceil(og/16) + (c % og) / 16, lane (c % og) % 16. With one group this is
// [ceil(oc/16)][kh][kw][ic][16].
//
// Parts: rows; or output channels, unless groups > 1 and og is no multiple of 16 (a cut would fall
// inside a panel).
//
// The rows by Winograd's method (winograd.h) take 3x3 filters of one group with stride and dilation
// 1, and other weights. Parts: as above; a part of rows that does not begin and end on the grid of
// tiles computes those tiles, too, and x holds the rows that they reach. (Not so
// conv2d_winograd2_f32_cl_tiled: of a tile of 2 x 2, the outputs of a row do not depend, to the
// bit, on the inputs that only the other row reaches.)
//
// GPU kernels, what a work-item does for one input channel (image: for a texel of four) of a tap:
//   row     computes                multiply-adds  loads, and multiply-adds of each  registers
//   buffer  7 pixels, 16 channels   112            1 of 16 floats, 7 of one: 14      135
//           7 pixels, 32 channels   224            2 of 16 floats, 7 of one: 25      263
//   texels  4 pixels, 4 channels    64             4 texels, 4 of 4 floats: 8        36
//           4 pixels, 8 channels    128            4 texels, 8 of 4 floats: 11       56
//           3 pixels, 8 channels    96             3 texels, 8 of 4 floats: 9        44
//   tiled   8 pixels, 8 channels    64             4 of 4 floats, local memory: 16   104
//           4 pixels, 4 channels    16             2 of 4 floats, local memory: 8    32
// and by Winograd's method for one input channel of one of the (m + 2)^2 positions:
//   winograd4 buffer  4 tiles, 64 channels  256    4 of 16 floats, 4 of one: 32      321
//   winograd2 tiled   8 tiles, 8 channels   64     4 of 4 floats, local memory: 16   112
// Registers are floats: sums, factors and, tiled, what is on its way to local memory. From global
// memory a tiled kernel loads 4 floats for 4 M N / (M + N) multiply-adds: 171 in a tile of 64 x
// 128, 64 in one of 32 x 32.
#pragma once

#include "kernels/common/contract/conv_window.h"
#include "kernels/common/gemm/byte_panels.h"
#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/common/gemm/panel_tile.h"
#include "schema/half.h"

namespace codl::kernels {

// `dims` are OIHW.
constexpr uint64_t conv2d_packed_elements(const int32_t* dims, int32_t groups) {
  return static_cast<uint64_t>(groups) * static_cast<uint64_t>(panel_channels(dims[0] / groups)) *
         static_cast<uint64_t>(dims[1]) * static_cast<uint64_t>(dims[2]) *
         static_cast<uint64_t>(dims[3]);
}

// Counts the bytes of the packing in byte_panels.h, for weights of 8 bits.
constexpr uint64_t conv2d_packed_bytes(const int32_t* dims, int32_t groups) {
  const int64_t panels = int64_t{groups} * ceil_div(dims[0] / groups, kChannelPanel);
  return static_cast<uint64_t>(panels * byte_panel_bytes(int64_t{dims[2]} * dims[3], dims[1]));
}

// Packs `src` (OIHW) into conv2d_packed_elements() floats or Halves, or conv2d_packed_bytes()
// bytes, at `dst`.
template <typename Element>
void conv2d_pack(const int32_t* dims, int32_t groups, const float* src, Element* dst);
void conv2d_pack(const int32_t* dims, int32_t groups, const float* src, int8_t* dst);

// Sizes the product that the whole operator is.
constexpr GemmSize conv2d_gemm_size(const OperandShape& x, const OperandShape& w,
                                    const OperandShape& y) {
  return {int64_t{y.dims[0]} * y.dims[2] * y.dims[3], y.dims[1],
          int64_t{w.dims[2]} * w.dims[3] * padded_channels(x)};
}

// Tile numbers of the direct GPU kernels without local memory are the local sizes, then what a
// work-item computes: pixels, and panels (buffer) or texels of 4 (image, quad) of output channels.
inline constexpr uint32_t kConv2dItemInts = 5;

// The buffer kernel:
//   7 pixels divide the widths of most networks (112, 56, 28, 14, 7) and leave one over at 13, 27
//   and 55; seven sums of 16 lanes hide the latency of an AVX-512 multiply-add
//   14 pixels or 2 panels halve the loads per multiply-add, where there are registers for more
//   sums: on a processor with AVX-512, not on a GPU
//   1 or 4 pixels are for GPUs with few registers and groups that the kernels on texels do not take
inline constexpr int32_t kConv2dBufferPixels = 7;

// Counts 32-bit registers of a work-item: sums, a row of weights for each panel, and a float of x
// for each pixel.
constexpr int32_t conv2d_buffer_registers(int32_t pixels, int32_t panels) {
  return (pixels + 1) * panels * kChannelPanel + pixels;
}

// The kernels on texels: what a work-item computes. Steps without tile numbers have the default.
struct Conv2dTexelTile {
  static constexpr int32_t kRunRegisters = 4;

  int32_t pixels = 4;
  int32_t texels = 1;

  constexpr int32_t channels() const { return texels * kChannelPad; }
  // Counts 32-bit registers: sums, a texel of x for each pixel, and weights of one input channel.
  constexpr int32_t registers() const {
    return pixels * channels() + pixels * kChannelPad + channels();
  }
  // Counts them where all of these are halves, and sums of more products than a run floats, too.
  // Then it has kRunRegisters more, which count the steps of a loop and of a run that are left.
  constexpr int32_t half_registers(double products) const {
    return registers() / 2 + (products > kHalfSumProducts ? pixels * channels() : 0);
  }
};

constexpr Conv2dTexelTile conv2d_texel_tile(const StepShape& step) {
  if (step.tile_count != kConv2dItemInts) return {};
  return {step.tile[3], step.tile[4]};
}

// Returns whether the kernels on texels can compute so many neighbouring texels in a work-item:
// they lie in one panel of one group.
constexpr bool conv2d_takes_texels(const Conv2dParams& params, const OperandShape& y,
                                   int32_t texels) {
  return texels == 1 || (texels == 2 && (params.groups == 1 ||
                                         y.dims[1] / params.groups % (2 * kChannelPad) == 0));
}

void conv2d_launch(const StepShape& step, ClLaunch* out_launch);

// Panels that a part writes, of all groups; a part of channels has whole ones.
constexpr Range conv2d_panels(const Conv2dParams& params, const OperandShape& y, SplitDim part_dim,
                              Range part) {
  if (part_dim == SplitDim::OutputChannel)
    return {part.begin / kChannelPanel, static_cast<int32_t>(ceil_div(part.end, kChannelPanel))};
  return {0,
          static_cast<int32_t>(params.groups * ceil_div(y.dims[1] / params.groups, kChannelPanel))};
}

// Returns whether the buffer kernel can compute `panels` panels in a work-item.
constexpr bool conv2d_takes_panels(const Conv2dParams& params, const OperandShape& y,
                                   SplitDim part_dim, Range part, int32_t panels) {
  return panels == 1 || (panels == 2 && params.groups == 1 &&
                         conv2d_panels(params, y, part_dim, part).count() % 2 == 0);
}

// Returns whether a tile computes from copies of its inputs: there is one tap, and pixels are a
// multiple of 4096 bytes apart, which share a set of a first-level cache and push each other out.
// The copies lie in neighbouring sets.
constexpr bool conv2d_has_copies(const Conv2dParams& params, const OperandShape& x, int64_t taps) {
  // 64 KiB per pixel: with more, those of a tile are no small part of a second-level cache.
  return taps == 1 && padded_channels(x) <= 16384 &&
         int64_t{pixel_elements(x)} * params.stride_w * element_bytes(x) % 4096 == 0;
}

// Returns the share of its (tap, position) pairs that the direct CPU kernel computes: 1, or, where
// most taps lie in the padding, those inside the map. The operator's shapes alone decide this,
// because it may change the result's last bit.
constexpr double conv2d_computed_share(const Conv2dParams& params, const OperandShape& x,
                                       const OperandShape& w, const OperandShape& y) {
  // Above this share, or with smaller tiles than this, the smaller tiles cost what the skipped taps
  // save.
  constexpr double kMaxInside = 0.6;
  constexpr int32_t kMinColumns = 4;
  const WindowAxis horizontal = horizontal_axis(params, w.dims);
  const double share = share_inside(vertical_axis(params, w.dims), x.dims[2], y.dims[2]) *
                       share_inside(horizontal, x.dims[3], y.dims[3]);
  if (share > kMaxInside) return 1;
  int32_t segments = 0;
  for (int32_t column = 0; column < y.dims[3];
       column = end_of_segment(horizontal, x.dims[3], y.dims[3], column))
    if (++segments > y.dims[3] / kMinColumns) return 1;
  return share;
}

// So many bytes of weights stay in use while the pixels pass: half of a 512 KiB second-level cache,
// the least of the processors that run buffer kernels.
inline constexpr int64_t kConv2dInnerWeightBytes = 256 * 1024;

// Returns whether the filter sees no rows: 1x1, moving by one. A kernel that joins them to one has
// fewer pixels left over.
constexpr bool conv2d_may_join_rows(const Conv2dParams& params, const OperandShape& x,
                                    const OperandShape& w, const OperandShape& y) {
  return w.dims[2] == 1 && w.dims[3] == 1 && params.stride_h == 1 && params.stride_w == 1 &&
         params.pad_top == 0 && params.pad_left == 0 && x.dims[2] == y.dims[2] &&
         x.dims[3] == y.dims[3];
}

// Says how the kernels on texels are cut into work-items: texels of channels times blocks of pixels
// of a row.
struct Conv2dTexelGrid {
  bool is_joined = false;  // rows are one, the first that every operand holds
  int32_t rows = 1;
  int32_t out_w = 1;
  int32_t texels = 1;
};

inline Conv2dTexelGrid conv2d_texel_grid(const StepShape& step) {
  const auto& params = step.params_as<Conv2dParams>();
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  Conv2dTexelGrid grid;
  grid.texels = cl_channels(step).stored_count / kChannelPad;
  // An image's rows do not follow each other.
  grid.is_joined = y.layout == Layout::Nhwc && y.dims[0] == 1 &&
                   conv2d_may_join_rows(params, step.operands[0], step.operands[1], y);
  for (uint32_t i = 0; i < step.operand_count; ++i)
    if (step.operands[i].layout == Layout::Nhwc && step.operands[i].row_begin != rows.begin)
      grid.is_joined = false;
  grid.rows = grid.is_joined ? 1 : rows.count();
  grid.out_w = grid.is_joined ? rows.count() * y.dims[3] : y.dims[3];
  return grid;
}

// Says how the buffer kernel is cut into work-items: blocks of pixels of a row times blocks of
// panels.
struct Conv2dBufferGrid {
  bool is_joined = false;  // rows are one: a 1x1 filter that moves by one sees none
  int32_t item_pixels = kConv2dBufferPixels;
  int32_t item_panels = 1;
  Range panels;
  int64_t inner_blocks = 1;  // blocks of panels that pass first
  int64_t outer_blocks = 1;
  int32_t rows = 1;
  int32_t out_w = 1;
  int32_t in_w = 1;
  int64_t pixel_blocks = 1;  // in a row

  int64_t items(int32_t batch) const {
    return inner_blocks * pixel_blocks * rows * batch * outer_blocks;
  }
};

inline Conv2dBufferGrid conv2d_buffer_grid(const StepShape& step) {
  const auto& params = step.params_as<Conv2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  Conv2dBufferGrid grid;
  grid.panels = conv2d_panels(params, y, step.part_dim, step.part);
  if (step.tile_count == kConv2dItemInts) {
    grid.item_pixels = step.tile[3];
    grid.item_panels = step.tile[4];
  }
  const int64_t panel_bytes =
      int64_t{w.dims[2]} * w.dims[3] * w.dims[1] * kChannelPanel * element_bytes(w);
  const int32_t panel_blocks = grid.panels.count() / grid.item_panels;
  grid.inner_blocks = kConv2dInnerWeightBytes / (panel_bytes * grid.item_panels);
  if (grid.inner_blocks < 1) grid.inner_blocks = 1;
  if (grid.inner_blocks > panel_blocks) grid.inner_blocks = panel_blocks;
  grid.outer_blocks = ceil_div(panel_blocks, grid.inner_blocks);
  // Both operands hold the rows of the part one behind the other.
  grid.is_joined = conv2d_may_join_rows(params, x, w, y);
  const int32_t rows = rows_of_part(step.part_dim, step.part, y).count();
  grid.rows = grid.is_joined ? 1 : rows;
  grid.out_w = grid.is_joined ? rows * y.dims[3] : y.dims[3];
  grid.in_w = grid.is_joined ? grid.out_w : x.dims[3];
  grid.pixel_blocks = ceil_div(grid.out_w, grid.item_pixels);
  return grid;
}

// Says how the direct CPU kernel reads its input if few output channels are computed with lanes
// along the reduction (conv2d_dots-inl.h): a window in runs of elements that follow each other.
struct Conv2dDots {
  // In a window: its rows, or its taps where these are dilated; 0: the kernel reads in another way.
  int64_t runs = 0;
  int64_t run = 0;    // elements
  int64_t depth = 0;  // elements of a tap, pad lanes included
  // Scratch, in floats: the weights, a run of zeros, and copies of the tile's runs that reach out
  // of the map.
  int64_t weight_elements = 0;
  int64_t zero_elements = 0;
  int64_t copy_elements = 0;
};

// No instruction set has more output channels; it is a power of two.
inline constexpr int32_t kConv2dMostDots = 8;

// Returns no runs if no processor computes the operator so, which is done with floats alone. Only
// the operator's shapes decide this, and what an instruction set makes of it, because a result's
// last bit depends on it.
constexpr Conv2dDots conv2d_dots(const Conv2dParams& params, const OperandShape& x,
                                 const OperandShape& w, const OperandShape& y) {
  constexpr int64_t kMinPixels = 256;          // the weights are brought into order at each run
  constexpr int64_t kMaxElements = 64 * 1024;  // weights and copies together have at most so many
  constexpr int64_t kTilePixels = 8;
  constexpr int64_t kVector = 16;
  if (x.dtype != DType::F32 || params.groups != 1 || y.dims[1] > kConv2dMostDots) return {};
  if (int64_t{y.dims[0]} * y.dims[2] * y.dims[3] < kMinPixels) return {};
  const WindowAxis horizontal = horizontal_axis(params, w.dims);
  Conv2dDots dots;
  // Pad lanes are read like channels, where they are a fifth of a pixel at most.
  dots.depth = padded_channels(x);
  if (4 * dots.depth > 5 * int64_t{x.dims[1]}) return {};
  const bool is_dilated = horizontal.taps > 1 && horizontal.dilation > 1;
  dots.runs = int64_t{w.dims[2]} * (is_dilated ? horizontal.taps : 1);
  dots.run = dots.depth * (is_dilated ? 1 : horizontal.taps);
  int32_t computed = 1;  // output channels
  while (computed < y.dims[1]) computed *= 2;
  dots.weight_elements = dots.runs * round_up(dots.run, kVector) * computed;
  dots.zero_elements = round_up(dots.run, kVector);
  dots.copy_elements = kTilePixels * dots.runs * dots.run;
  if (dots.weight_elements > kMaxElements || dots.copy_elements > kMaxElements) return {};
  return conv2d_computed_share(params, x, w, y) < 1 ? Conv2dDots{} : dots;
}

// 1, 2, 4 or 8 channels are computed together, as many as leave registers for the sums of two
// pixels; surplus ones have weights of zero. `lanes`: floats in a vector.
constexpr int32_t conv2d_most_dots(int32_t lanes) { return lanes == 16 ? kConv2dMostDots : 4; }
constexpr int32_t conv2d_dots_for(int64_t channels) {
  int32_t dots = 1;
  while (dots < channels) dots *= 2;
  return dots;
}

// Returns the pixels of a tile. Its sums hide the latency of a multiply-add and leave registers for
// the weights and an input.
constexpr int32_t conv2d_dot_pixels(int32_t dots) { return dots < 4 ? 8 / dots : 2; }

// Returns the vectors of a channel's weights; the last one of each run may not be whole.
constexpr int64_t conv2d_dot_vectors(const Conv2dDots& dots, int32_t lanes) {
  return dots.runs * ceil_div(dots.run, lanes);
}

// Returns whether dots take less time than a panel: their multiply-adds of vectors are counted, and
// what ends a dot in units of these. `reduction` is the multiply-adds of an output.
constexpr bool conv2d_takes_dots(const Conv2dDots& dots, int64_t channels, int64_t reduction,
                                 int32_t lanes) {
  constexpr int64_t kEndOfDot = 8;
  return lanes > 1 && dots.runs > 0 && channels <= conv2d_most_dots(lanes) && dots.run >= lanes &&
         conv2d_dots_for(channels) * (conv2d_dot_vectors(dots, lanes) + kEndOfDot) <
             panel_tile_size(lanes).last_lanes(channels) / lanes * reduction;
}

// The part that a CPU step computes and how it is cut into tasks (PanelRectangle names the two).
struct Conv2dWork {
  Range rows;    // rows of the output
  Range panels;  // panels of packed w
  int64_t images;
  int64_t pixels;  // pixels of the part in one image
  PanelBlocks blocks;
  int64_t task_count;
  bool has_copies;
  int64_t copy_stride;  // elements from pixel to pixel of the copies
  // Scratch holds the table of inputs of a tile, two lists of taps, a pixel of zeros that stands
  // for padding, and the copies.
  uint64_t table_bytes;
  uint64_t taps_bytes;  // size of one list
  uint64_t zeros_bytes;
  // The scratch of dots stands behind these.
  Conv2dDots dots;
  uint64_t dots_offset;
  // So do the factors, offsets and starts of the part's panels, where the input is bytes.
  uint64_t scales_offset;
  uint64_t scratch_bytes;
};

constexpr Conv2dWork conv2d_work(const Conv2dParams& params, const OperandShape& x,
                                 const OperandShape& w, const OperandShape& y, SplitDim part_dim,
                                 Range part) {
  Conv2dWork work = {};
  work.rows = rows_of_part(part_dim, part, y);
  work.panels = conv2d_panels(params, y, part_dim, part);
  const int64_t taps = int64_t{w.dims[2]} * w.dims[3];
  work.images = y.dims[0];
  work.pixels = int64_t{work.rows.count()} * y.dims[3];
  const int64_t depth = taps * w.dims[1];
  work.blocks = panel_blocks(work.images, work.pixels, work.panels.count(), depth,
                             depth * kChannelPanel * element_bytes(w));
  work.task_count = work.images * work.blocks.pixel_blocks * work.blocks.panel_blocks;
  const auto lines = [](int64_t bytes) { return static_cast<uint64_t>((bytes + 63) / 64 * 64); };
  work.table_bytes = lines(taps * kPanelTileMaxPixels * int64_t{sizeof(float*)});
  work.taps_bytes = lines(taps * int64_t{sizeof(PanelTap)});
  work.zeros_bytes = lines(int64_t{padded_channels(x)} * element_bytes(x));
  work.scratch_bytes = work.table_bytes + 2 * work.taps_bytes + work.zeros_bytes;
  work.has_copies = conv2d_has_copies(params, x, taps);
  if (work.has_copies) {
    // The stride is an odd number of lines.
    const int64_t line = 64 / element_bytes(x);
    work.copy_stride = (ceil_div(padded_channels(x), line) | 1) * line;
    work.scratch_bytes +=
        static_cast<uint64_t>(kPanelTileMaxPixels * work.copy_stride * element_bytes(x));
  }
  work.dots = conv2d_dots(params, x, w, y);
  work.dots_offset = work.scratch_bytes;
  if (work.dots.runs > 0)
    work.scratch_bytes +=
        lines((work.dots.weight_elements + work.dots.zero_elements + work.dots.copy_elements) *
              int64_t{sizeof(float)});
  work.scales_offset = work.scratch_bytes;
  if (x.dtype == DType::I8)
    work.scratch_bytes += static_cast<uint64_t>(work.panels.count()) * kByteScaleBytes;
  return work;
}

}  // namespace codl::kernels
