// Rows times a matrix in packed panels: the micro-kernel of Conv2d (panel_tile-inl.h) with
// one tap, rows of x for pixels. This is Highway code, compiled once per target.
//
// With one row it is a product of a vector and a matrix that reads every weight once. The chains of
// additions (AVX3: two vectors of a pair of panels; AVX2: eight of four; NEON: four of one) take 16
// bytes or more per cycle, above what one core gets from memory.
#if defined(CODL_KERNELS_COMMON_PANEL_MULTIPLY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_PANEL_MULTIPLY_INL_H
#undef CODL_KERNELS_COMMON_PANEL_MULTIPLY_INL_H
#else
#define CODL_KERNELS_COMMON_PANEL_MULTIPLY_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/gemm/panel_rows-inl.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// Computes rows [first, first + row_count), at most a tile, and `panels`, in passes of
// `pass_panels`. `number` is that of the tile in its pass.
template <class Sums, class T>
void multiply_tile(const PanelRows<T>& product, int64_t first, int32_t row_count, Range panels,
                   int64_t pass_panels, int64_t number) {
  const TileFunctions<Sums> functions(row_count, product.columns, product.is_row);
  const int64_t panel_elements = product.panel_elements;
  const InputOf<T>* inputs[kMaxTilePixels];
  for (int i = 0; i < Sums::kSize.size_for(row_count); ++i)
    inputs[i] = product.x + (first + (i < row_count ? i : row_count - 1)) * product.x_stride;
  PanelTile<TileOf<T>> tile = {
      .inputs = inputs,
      .depth = product.depth,
      .panel_elements = panel_elements,
      .weights = nullptr,
      .bias = nullptr,
      .ahead = 0,
      .pixel_count = row_count,
  };
  PanelOutput<ResultOf<T>> output = {.activation = &product.activation,
                                     .residual_stride = product.y_stride,
                                     .y = {},
                                     .y_stride = product.y_stride,
                                     .lanes = {},
                                     .scales = product.scales};
  sum_inputs(&tile, Sums::kSize.size_for(row_count));

  int panel_count = 0;
  for (int32_t panel = panels.begin; panel < panels.end; panel += panel_count) {
    panel_count = panels.end - panel < functions.most_panels ? 1 : functions.most_panels;
    const int32_t column = panel * kChannelPanel;
    const int32_t columns_left = product.columns - (panel + panel_count - 1) * kChannelPanel;
    const int32_t lanes = columns_left < kChannelPanel ? columns_left : kChannelPanel;
    tile.weights = product.weights + panel * panel_elements;
    tile.bias = product.bias + column;
    tile.ahead = product.brings_ahead
                     ? ahead_of(tile.weights, panel_count, panel_elements, pass_panels, number)
                     : reinterpret_cast<uintptr_t>(tile.weights);
    output.lanes = {lanes, lanes};
    output.y = product.y + (first * product.y_stride + column);
    output.panel = panel - product.first_panel;
    if (product.adds_to_y) output.residual = output.y;
    run_tile(tile, functions, panel_count, output);
  }
}

template <class Sums, class T>
void multiply_rows_of(const PanelRows<T>& product, int64_t row_begin, int64_t row_end,
                      Range panels) {
  constexpr PanelTileSize kSize = Sums::kSize;
  const int64_t pass_panels =
      kSize.pass_panels(product.panel_elements * int64_t{sizeof(WeightOf<T>)},
                        product.is_row ? kSize.row_panels : kSize.panels);
  const int tile_pixels = kSize.pixels_for(product.x_stride * int64_t{sizeof(InputOf<T>)},
                                           kSize.most_pixels(product.columns));
  const int64_t tiles = ceil_div(row_end - row_begin, tile_pixels);
  Range pass = panels;
  for (; pass.begin < panels.end; pass.begin = pass.end) {
    pass.end = panels.end - pass.begin > pass_panels
                   ? pass.begin + static_cast<int32_t>(pass_panels)
                   : panels.end;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t begin = row_begin + (row_end - row_begin) * tile / tiles;
      const int64_t next = row_begin + (row_end - row_begin) * (tile + 1) / tiles;
      multiply_tile<Sums>(product, begin, static_cast<int32_t>(next - begin), pass, pass_panels,
                          tile);
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_PANEL_MULTIPLY_INL_H
