// Rows times a matrix in packed panels, float32: the micro-kernel of Conv2d (panel_tile-inl.h) with
// one tap, rows of x for pixels.
//
// With one row it is a product of a vector and a matrix that reads every weight once. The chains of
// additions (AVX3: two vectors of a pair of panels; AVX2: eight of four; NEON: four of one) take 16
// bytes or more per cycle, above what one core gets from memory.
#include "kernels/common/gemm/panel_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/gemm/panel_rows_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_rows-inl.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// Computes rows [first, first + row_count), at most a tile, and `panels`, in passes of
// `pass_panels`. `number` is that of the tile in its pass.
void multiply_tile(const PanelRows& product, int64_t first, int32_t row_count, Range panels,
                   int64_t pass_panels, int64_t number) {
  const TileFunctions functions(row_count, product.columns, product.is_row);
  const int64_t panel_elements = product.depth * kChannelPanel;
  const float* inputs[kMaxTilePixels];
  for (int i = 0; i < tile_size_for(row_count); ++i)
    inputs[i] = product.x + (first + (i < row_count ? i : row_count - 1)) * product.x_stride;
  PanelTile tile = {
      .inputs = inputs,
      .depth = product.depth,
      .panel_elements = panel_elements,
      .weights = nullptr,
      .bias = nullptr,
      .ahead = 0,
      .y = nullptr,
      .y_stride = product.y_stride,
      .pixel_count = row_count,
      .last_lanes = kChannelPanel,
      .low = product.activation.low,
      .high = product.activation.high,
  };

  int panel_count = 0;
  for (int32_t panel = panels.begin; panel < panels.end; panel += panel_count) {
    panel_count = panels.end - panel < functions.most_panels ? 1 : functions.most_panels;
    const int32_t column = panel * kChannelPanel;
    const int32_t columns_left = product.columns - (panel + panel_count - 1) * kChannelPanel;
    const int32_t lanes = columns_left < kChannelPanel ? columns_left : kChannelPanel;
    const PanelOutput output = {&product.activation, lanes, lanes};
    tile.weights = product.weights + panel * panel_elements;
    tile.bias = product.bias + column;
    tile.ahead = product.brings_ahead
                     ? ahead_of(tile.weights, panel_count, panel_elements, pass_panels, number)
                     : reinterpret_cast<uintptr_t>(tile.weights);
    tile.last_lanes = lanes;
    tile.y = product.y + first * product.y_stride + column;
    run_tile(tile, functions, panel_count, output);
  }
}

}  // namespace

void multiply_rows(const PanelRows& product, int64_t row_begin, int64_t row_end, Range panels) {
  const int64_t pass_panels =
      pass_panels_for(product.depth * kChannelPanel, product.is_row ? kRowPanels : kTilePanels);
  const int tile_pixels =
      tile_pixels_for(product.x_stride, tile_pixels_of_channels(product.columns));
  const int64_t tiles = ceil_div(row_end - row_begin, tile_pixels);
  Range pass = panels;
  for (; pass.begin < panels.end; pass.begin = pass.end) {
    pass.end = panels.end - pass.begin > pass_panels
                   ? pass.begin + static_cast<int32_t>(pass_panels)
                   : panels.end;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t begin = row_begin + (row_end - row_begin) * tile / tiles;
      const int64_t next = row_begin + (row_end - row_begin) * (tile + 1) / tiles;
      multiply_tile(product, begin, static_cast<int32_t>(next - begin), pass, pass_panels, tile);
    }
  }
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
