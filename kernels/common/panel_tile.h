// Limits of the micro-kernel in panel_tile-inl.h that contracts need, and how work is cut for it.
#pragma once

#include "kernels/common/packed_weights.h"
#include "kernels/common/tensor_view.h"

namespace codl::kernels {

// The largest tile of any instruction set.
inline constexpr int32_t kPanelTileMaxPixels = 14;
inline constexpr int32_t kPanelTileMaxPanels = 2;

// Weights that one pass over the pixels uses again and again: half of a 512 KiB second-level cache,
// the least per core of the processors in use.
inline constexpr int64_t kPanelPassBytes = 256 * 1024;

// How the pixels (of one image) and panels of a step are cut into tasks. A task is a block of
// pixels with a block of panels; neighbours share panels.
struct PanelBlocks {
  int64_t pixels_per_block;
  int64_t panels_per_block;
  int64_t pixel_blocks;  // of one image
  int64_t panel_blocks;
};

// `panel_depth`: multiply-adds of one output element.
constexpr PanelBlocks panel_blocks(int64_t images, int64_t pixels, int64_t panels,
                                   int64_t panel_depth) {
  // 84: a multiple of 14 and 6, so that a block has whole tiles on AVX3 and AVX2.
  constexpr int64_t kPixelGrain = 84;
  // About 5 us of one core at 80 GFLOP/s, some ten times what handing out a task may cost.
  constexpr int64_t kLeastTaskMacs = 200'000;
  // Enough for the slowest of eight workers to leave little undone at the end.
  constexpr int64_t kWantedTasks = 32;
  constexpr int64_t kMostPixelBlocks = 64;

  PanelBlocks blocks = {};
  // Blocks of an even number of panels: pairs are what AVX3 computes at once.
  int64_t even_panels = kPanelPassBytes / (panel_depth * kChannelPanel * int64_t{sizeof(float)});
  even_panels = even_panels < 2 ? 2 : even_panels / 2 * 2;
  if (even_panels > panels) even_panels = panels;

  const int64_t macs_per_pixel = panel_depth * even_panels * kChannelPanel;
  int64_t block = ceil_div(kLeastTaskMacs, macs_per_pixel);
  if (block < ceil_div(pixels, kMostPixelBlocks)) block = ceil_div(pixels, kMostPixelBlocks);
  block = ceil_div(block, kPixelGrain) * kPixelGrain;
  blocks.pixel_blocks = ceil_div(pixels, block);
  // Evenly: 100 pixels are 2 x 50, not 84 + 16.
  blocks.pixels_per_block = ceil_div(pixels, blocks.pixel_blocks);
  blocks.pixel_blocks = ceil_div(pixels, blocks.pixels_per_block);

  // Few pixels: let the panels make the tasks.
  while (even_panels > 2 &&
         images * blocks.pixel_blocks * ceil_div(panels, even_panels) < kWantedTasks &&
         blocks.pixels_per_block * panel_depth * even_panels * kChannelPanel >= 2 * kLeastTaskMacs)
    even_panels = ceil_div(even_panels, 4) * 2;
  blocks.panels_per_block = even_panels;
  blocks.panel_blocks = ceil_div(panels, even_panels);
  return blocks;
}

}  // namespace codl::kernels
