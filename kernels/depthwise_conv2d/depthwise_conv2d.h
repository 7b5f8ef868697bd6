// 2-D convolution with one filter per channel: y = activation(conv(x, w) + bias + residual). All
// operands are f32; of depthwise_conv2d_f32_cpu, all but the bias may be f16. Of
// depthwise_conv2d_q8_cpu, x and w are i8, and the residual and y i8 or f32.
//
//   x         [n, c, ih, iw]  Nhwc (Image2d for the image kernel)
//   w         [c, 1, kh, kw]  Packed: [kh][kw][round_up(c, 16)], lanes past c are zero
//   bias      [c]             Packed: [round_up(c, 16)], zero past c
//   residual  [n, c, oh, ow]  as y; present when has_residual is 1; holds the rows of the part
//   y         [n, c, oh, ow]  Nhwc (Image2d); must not alias an input, but may be the residual
//
// oh = (ih + pad_top + pad_bottom - ((kh - 1) dilation_h + 1)) / stride_h + 1, ow likewise. x holds
// the rows that the part's rows reach, clipped to the map. Parts: rows, or channels.
#pragma once

#include "kernels/common/contract/conv_window.h"
#include "kernels/common/contract/tasks.h"
#include "kernels/common/gemm/byte_panels.h"

namespace codl::kernels {

// `dims` are [c, 1, kh, kw].
constexpr uint64_t depthwise_conv2d_packed_elements(const int32_t* dims) {
  return static_cast<uint64_t>(panel_channels(dims[0])) * static_cast<uint64_t>(dims[2]) *
         static_cast<uint64_t>(dims[3]);
}

// Weights of 8 bits are packed as panels of common/gemm/byte_panels.h: the columns of the filter
// are their taps, its rows what they have for input channels.
constexpr int64_t depthwise_panel_bytes(const int32_t* dims) {
  return byte_panel_bytes(dims[3], dims[2]);
}
constexpr uint64_t depthwise_conv2d_packed_bytes(const int32_t* dims) {
  return static_cast<uint64_t>(ceil_div(dims[0], kChannelPanel) * depthwise_panel_bytes(dims));
}

// Packs `src` (OIHW) into depthwise_conv2d_packed_elements() floats or Halves, or
// depthwise_conv2d_packed_bytes() bytes, at `dst`.
template <typename Element>
void depthwise_conv2d_pack(const int32_t* dims, const float* src, Element* dst);
void depthwise_conv2d_pack(const int32_t* dims, const float* src, int8_t* dst);

// ---- GPU kernels --------------------------------------------------------------------------------
//
// A work-item computes pixels of a row times 16 channels (buffer kernel), or times a texel of 4
// (image kernel, and the buffer kernel where a work-item has few registers).

// 7 divides the widths of most networks (112, 56, 28, 14, 7).
inline constexpr int32_t kDepthwisePixels = 7;
// 16 sums beside a row of 7 weights and an input are 48 registers of the 64 that Mali has.
inline constexpr int32_t kDepthwiseTexelPixels = 4;

// Returns whether a work-item on texels loads each input of a row once for all taps and pixels,
// which takes a program for the filter's width and stride: where neighbouring pixels share inputs,
// and registers have room for a row of weights.
constexpr bool depthwise_shares_inputs(const WindowAxis& vertical, const WindowAxis& horizontal) {
  constexpr int32_t kMaxTaps = 7;
  return vertical.dilation == 1 && horizontal.dilation == 1 &&
         horizontal.stride < horizontal.taps && horizontal.taps <= kMaxTaps;
}

// ---- CPU kernel ---------------------------------------------------------------------------------

// Neighbouring outputs of a CPU run at most: enough sums to hide the latency of an addition (4
// cycles, two per cycle), few enough for 16 registers with five weights beside them.
inline constexpr int32_t kDepthwiseRunOutputs = 8;

// Describes the part that a CPU step computes and how it is cut into tasks. Task t is block t %
// row_blocks of the rows of all images, one behind the other, with block t / row_blocks of the
// panels of 16 channels.
struct DepthwiseConv2dWork {
  Range rows;          // rows of the output
  Range panels;        // panels of 16 channels
  int64_t image_rows;  // rows of the part in all images
  int64_t row_blocks;
  int64_t panel_blocks;
  int32_t task_count;
};

constexpr DepthwiseConv2dWork depthwise_conv2d_work(const OperandShape& w, const OperandShape& y,
                                                    SplitDim part_dim, Range part) {
  DepthwiseConv2dWork work = {};
  const Range channels = channels_of_part(part_dim, part, y);
  work.rows = rows_of_part(part_dim, part, y);
  work.panels = {channels.begin / kChannelPanel,
                 static_cast<int32_t>(ceil_div(channels.end, kChannelPanel))};
  work.image_rows = int64_t{y.dims[0]} * work.rows.count();
  // Work is counted in multiply-adds, of which a core does about as many per second as it touches
  // elements in other kernels: every multiply-add loads an input.
  const int64_t macs =
      work.image_rows * y.dims[3] * work.panels.count() * kChannelPanel * w.dims[2] * w.dims[3];
  const int64_t wanted = task_count_for(work.image_rows * work.panels.count(), macs);
  // Rows are cut first: a task that has all channels of its rows reads whole cache lines and pages.
  // With few rows the panels make the tasks: the operators around such a map are cut along
  // channels, too.
  constexpr int64_t kFewRows = 11;
  work.row_blocks = wanted < work.image_rows ? wanted : work.image_rows;
  work.panel_blocks = work.image_rows > kFewRows ? 1 : ceil_div(wanted, work.row_blocks);
  work.task_count = static_cast<int32_t>(work.row_blocks * work.panel_blocks);
  return work;
}

// Says how the kernel of 8-bit operands works. It brings the bytes of four rows of the map
// together, channel by channel ("interleaves" them), for a block of channels and some outputs of a
// row.
struct DepthwiseByteWork {
  static constexpr int32_t kRowGroup = 4;
  static constexpr int32_t kOutputs = 14;         // taken of a row, at most
  static constexpr uint64_t kBlockChannels = 64;  // at most
  static constexpr uint64_t kQuadBytes = 4;       // for each channel, or 8 where a block has half
  static constexpr uint64_t kColumnBytes = kBlockChannels * kQuadBytes;
  static constexpr uint64_t kRowBytes = 16;  // for what the kernel knows of a row

  int32_t row_groups;
  int32_t output_rows;  // that use the same groups: two where a third, fifth... row costs no group
  // Neighbouring columns of the map are used by several outputs. Otherwise each tap of each output
  // has a column of its own.
  bool shares_columns;
  uint64_t scales_offset;  // in the scratch, of what has to be there for a block
  uint64_t weights_offset;
  uint64_t quads_offset;
  uint64_t scratch_bytes;
};

constexpr DepthwiseByteWork depthwise_byte_work(const WindowAxis& vertical,
                                                const WindowAxis& horizontal) {
  using Work = DepthwiseByteWork;
  Work work = {};
  work.row_groups = static_cast<int32_t>(ceil_div(vertical.taps, Work::kRowGroup));
  work.output_rows = vertical.dilation == 1 && vertical.taps + int64_t{vertical.stride} <=
                                                   int64_t{work.row_groups} * Work::kRowGroup
                         ? 2
                         : 1;
  work.shares_columns = horizontal.dilation == 1 && horizontal.stride <= horizontal.taps;
  const auto taps = static_cast<uint64_t>(horizontal.taps);
  const uint64_t columns =
      work.shares_columns ? (Work::kOutputs - 1) * static_cast<uint64_t>(horizontal.stride) + taps
                          : Work::kOutputs * taps;
  const auto groups = static_cast<uint64_t>(work.row_groups);
  constexpr uint64_t kBlockPanels = Work::kBlockChannels / kChannelPanel;
  work.scales_offset = groups * Work::kRowGroup * Work::kRowBytes;
  work.weights_offset = work.scales_offset + kBlockPanels * kByteScaleBytes;
  work.quads_offset = work.weights_offset +
                      static_cast<uint64_t>(work.output_rows) * groups * taps * Work::kColumnBytes;
  work.scratch_bytes = work.quads_offset + groups * columns * Work::kColumnBytes;
  return work;
}

// Channels of a CPU pass over the rows of a task: inputs and weights of a row of outputs stay in
// the first-level cache for the next row. At least two cache lines of a pixel, which are fetched in
// pairs. All of them where no input is used twice, and where the maps come from beyond the
// second-level cache: there only a stream is fast.
constexpr int64_t depthwise_conv2d_pass_channels(const WindowAxis& vertical,
                                                 const WindowAxis& horizontal,
                                                 const OperandShape& x, const OperandShape& y) {
  constexpr int64_t kPassBytes = 32 * 1024;
  constexpr uint64_t kStreamedBytes = 2048 * 1024;
  if (vertical.taps == 1 || x.bytes + y.bytes > kStreamedBytes) return kMaxElements;
  const int64_t lines = int64_t{vertical.taps} * (int64_t{x.dims[3]} + horizontal.taps);
  const int64_t channels = kPassBytes / (lines * element_bytes(x)) / kChannelPanel * kChannelPanel;
  return channels < 2 * kChannelPanel ? 2 * kChannelPanel : channels;
}

}  // namespace codl::kernels
