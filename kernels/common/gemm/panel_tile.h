// Defines the limits of the micro-kernel in panel_tile-inl.h that contracts need, and cuts work for
// it.
#pragma once

#include "kernels/common/gemm/packed_weights.h"
#include "schema/step_shape.h"

namespace codl::kernels {

// No instruction set has a larger tile.
inline constexpr int32_t kPanelTileMaxPixels = 14;
inline constexpr int32_t kPanelTileMaxPanels = 2;

// So many bytes of weights are used again and again in one pass over the pixels: half of a 512 KiB
// second-level cache, the least per core of the processors in use.
inline constexpr int64_t kPanelPassBytes = 256 * 1024;

// The floats of a vector decide how the micro-kernel cuts pixels and panels into tiles. Sums fill
// the registers, less those of one step's weights and inputs:
//   16, AVX-512  32 registers: 14 x 2 panels = 28 sums, 2 weights, 1 input; 14 divides 56, 28, 14
//   8, AVX2      16: 6 x 1 panel = 12, 2, 1
//   4, NEON      32: 4 x 1 panel = 16, 4 to 8, 4 (a register holds four inputs of a pixel); with
//                5 x 1 GCC 12 runs out of registers
//   1, scalar    one pixel; it is there to be right
struct PanelTileSize {
  int32_t lanes;   // in a vector
  int32_t pixels;  // in the largest tile
  int32_t panels;  // likewise
  // In the largest tile of half a panel: where registers allow it, more pixels take those of the
  // missing lanes, for as many sums as hide the latency of a multiply-add.
  int32_t narrow_pixels;
  // Panels at once of a single pixel, as MatMul has them: with fewer sums the next product of each
  // would wait for the one before.
  int32_t row_panels;
  // A pass over the pixels uses so many bytes of weights again and again: half of the second-level
  // cache, which has 1 MiB or more on processors with AVX-512 (but 512 KiB on Ice and Rocket Lake).
  int64_t pass_bytes;

  // Lanes that are computed of the last panel of `channels`: half of them where that is enough.
  // (Other fractions would save less than their code is worth; on scalar a lane is a vector.)
  constexpr int32_t last_lanes(int64_t channels) const {
    const int64_t last = channels % kChannelPanel;
    const bool is_half = last > 0 && last <= kChannelPanel / 2;
    return is_half && lanes > 1 && lanes < kChannelPanel ? kChannelPanel / 2 : kChannelPanel;
  }
  // Returns the pixels of the largest tile of one panel of which `count` lanes are computed.
  constexpr int32_t pixels_of_lanes(int32_t count) const {
    return count < kChannelPanel ? narrow_pixels : pixels;
  }
  // Returns the pixels of the largest tile of all panels of `channels`.
  constexpr int32_t most_pixels(int64_t channels) const {
    return channels < kChannelPanel ? pixels_of_lanes(last_lanes(channels)) : pixels;
  }
  // Returns how many of `most` pixels a tile has whose inputs are `stride` bytes apart. At
  // multiples of 4096 bytes the inputs all fall into one set of a first-level cache (64 sets of 64
  // bytes on every x86 in use, with 8 lines or more), where 14 of them push each other out. With
  // two streams of weights, 6 of them stay.
  static constexpr int32_t pixels_for(int64_t stride, int32_t most) {
    return most > 6 && stride % 4096 == 0 ? 6 : most;
  }
  // Returns how many pixels are computed for `count`. Tiles are of 1, 2, 4, 6 ... pixels on
  // AVX-512, where each size is a kilobyte of code, and of every size up to the largest whole
  // panel's elsewhere.
  constexpr int32_t size_for(int32_t count) const {
    return (lanes == kChannelPanel && count > 1) || count > pixels ? (count + 1) / 2 * 2 : count;
  }
  // Returns the panels of a pass, whole calls of `call_panels` and at least one call.
  constexpr int64_t pass_panels(int64_t panel_bytes, int64_t call_panels) const {
    const int64_t count = pass_bytes / panel_bytes;
    return count < call_panels ? call_panels : count / call_panels * call_panels;
  }
};

// The tiles of a processor that computes with halves, NEON with 8 of them in a vector: 8 x 1 panel
// = 16 sums, 2 weights and the next 2, 8 inputs (a register holds eight of a pixel), which must be
// in the first 16 registers. Of half a panel, 8 sums hide the latency, and more inputs GCC 12 moves
// about.
inline constexpr PanelTileSize kHalfTileSize = {8, 8, 1, 8, 2, kPanelPassBytes};

// Returns the tiles of a micro-kernel that takes one row at a time.
constexpr PanelTileSize row_tile_size(PanelTileSize size) {
  size.pixels = size.narrow_pixels = 1;
  return size;
}

constexpr PanelTileSize panel_tile_size(int32_t lanes) {
  switch (lanes) {
    case 16:
      return {16, 14, 2, 14, 2, 2 * kPanelPassBytes};
    case 8:
      return {8, 6, 1, 12, 4, kPanelPassBytes};
    case 4:
      return {4, 4, 1, 8, 1, kPanelPassBytes};
    default:
      return {1, 1, 1, 1, 1, kPanelPassBytes};
  }
}

// Places a tap of the filter.
struct PanelTap {
  int64_t input_offset;   // elements that are added to the pointers of the tile
  int64_t weight_offset;  // elements from the first weight of a panel
};

// Says how the pixels (of one image) and panels of a step are cut into tasks. A task is a block of
// pixels with a block of panels; neighbours share panels.
struct PanelBlocks {
  int64_t pixels_per_block;
  int64_t panels_per_block;
  int64_t pixel_blocks;  // in one image
  int64_t panel_blocks;
};

// `panel_depth`: multiply-adds of one output element; `panel_bytes`: the weights for them.
constexpr PanelBlocks panel_blocks(int64_t images, int64_t pixels, int64_t panels,
                                   int64_t panel_depth, int64_t panel_bytes) {
  // 84 is a multiple of 14 and 6, so that a block has whole tiles on AVX3 and AVX2.
  constexpr int64_t kPixelGrain = 84;
  // Blocks are evened out to whole tiles on AVX3, where a surplus pixel costs most.
  constexpr int64_t kEvenGrain = kPanelTileMaxPixels;
  // About 5 us of one core at 80 GFLOP/s, some ten times what handing out a task may cost.
  constexpr int64_t kMinTaskMacs = 200'000;
  // So many leave little undone for the slowest of eight workers at the end.
  constexpr int64_t kWantedTasks = 32;
  constexpr int64_t kMaxPixelBlocks = 64;

  PanelBlocks blocks = {};
  // Where all weights stay in a core's cache and there are pixels for every worker, tasks are
  // pixels only: then a worker's outputs are what it reads of the next map. A line that another
  // core has written takes as long as tens of multiply-adds of a tile.
  constexpr int64_t kMinPixelBlocks = 8;
  if (panels * panel_bytes <= kPanelPassBytes && images * pixels >= kMinPixelBlocks * kEvenGrain) {
    int64_t block = ceil_div(kMinTaskMacs, panel_depth * panels * kChannelPanel);
    if (block < ceil_div(pixels, kMaxPixelBlocks)) block = ceil_div(pixels, kMaxPixelBlocks);
    blocks.pixels_per_block = ceil_div(block, kEvenGrain) * kEvenGrain;
    blocks.panels_per_block = panels;
    blocks.pixel_blocks = ceil_div(pixels, blocks.pixels_per_block);
    blocks.panel_blocks = 1;
    return blocks;
  }
  // Blocks of an even number of panels: pairs are what AVX3 computes at once.
  int64_t even_panels = kPanelPassBytes / panel_bytes;
  even_panels = even_panels < 2 ? 2 : even_panels / 2 * 2;
  if (even_panels > panels) even_panels = panels;

  const int64_t macs_per_pixel = panel_depth * even_panels * kChannelPanel;
  int64_t block = ceil_div(kMinTaskMacs, macs_per_pixel);
  if (block < ceil_div(pixels, kMaxPixelBlocks)) block = ceil_div(pixels, kMaxPixelBlocks);
  block = ceil_div(block, kPixelGrain) * kPixelGrain;
  blocks.pixel_blocks = ceil_div(pixels, block);
  // Evenly: 100 pixels are 56 + 44, not 84 + 16.
  blocks.pixels_per_block =
      ceil_div(ceil_div(pixels, blocks.pixel_blocks), kEvenGrain) * kEvenGrain;
  blocks.pixel_blocks = ceil_div(pixels, blocks.pixels_per_block);

  // Few pixels: let the panels make the tasks.
  while (even_panels > 2 &&
         images * blocks.pixel_blocks * ceil_div(panels, even_panels) < kWantedTasks &&
         blocks.pixels_per_block * panel_depth * even_panels * kChannelPanel >= 2 * kMinTaskMacs)
    even_panels = ceil_div(even_panels, 4) * 2;
  blocks.panels_per_block = even_panels;
  blocks.panel_blocks = ceil_div(panels, even_panels);
  return blocks;
}

// Names pixels of one image, flattened over the rows of the part.
struct PixelRange {
  int64_t begin;
  int64_t end;
};

// Describes tasks that form a rectangle of pixels and panels, so that a kernel may go through it in
// the order that its caches like. Task t is block t % (images pixel_blocks) of the pixels, image by
// image, with block t / (images pixel_blocks) of the panels.
struct PanelRectangle {
  int64_t block_begin;  // blocks of pixels, of all images
  int64_t block_end;
  Range panels;
};

// Returns the rectangle that starts with *task: either a part of the pixels with one block of
// panels, or all pixels with several. Moves *task behind it; *task is below task_end. `panels` is
// the step's.
constexpr PanelRectangle take_rectangle(const PanelBlocks& blocks, int64_t images, Range panels,
                                        int64_t task_end, int64_t* task) {
  const int64_t column = images * blocks.pixel_blocks;
  const int64_t begin = *task;
  const int64_t panel_block = begin / column;
  const int64_t first = begin % column;
  const int64_t columns = first == 0 ? (task_end - begin) / column : 0;
  PanelRectangle rectangle = {first, column, {}};
  if (columns == 0 && task_end - begin < column - first)
    rectangle.block_end = first + task_end - begin;
  *task = columns > 0 ? begin + columns * column : begin + rectangle.block_end - first;
  const int64_t panel = panels.begin + panel_block * blocks.panels_per_block;
  const int64_t panel_end = panel + (columns > 0 ? columns : 1) * blocks.panels_per_block;
  rectangle.panels = {static_cast<int32_t>(panel),
                      static_cast<int32_t>(panel_end < panels.end ? panel_end : panels.end)};
  return rectangle;
}

// Returns the pixels of `image` in the rectangle, maybe none. `pixels` counts those of one image.
constexpr PixelRange pixels_of(const PanelRectangle& rectangle, const PanelBlocks& blocks,
                               int64_t pixels, int64_t image) {
  int64_t begin = rectangle.block_begin - image * blocks.pixel_blocks;
  int64_t end = rectangle.block_end - image * blocks.pixel_blocks;
  begin = (begin < 0 ? 0 : begin) * blocks.pixels_per_block;
  end = (end < blocks.pixel_blocks ? end : blocks.pixel_blocks) * blocks.pixels_per_block;
  return {begin, end < pixels ? end : pixels};
}

}  // namespace codl::kernels
