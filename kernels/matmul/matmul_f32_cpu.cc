// Matrix product with packed weights, Plain, float32: the micro-kernel of Conv2d
// (common/panel_tile-inl.h) with one tap, rows of x for pixels.
//
// With one row it is a product of a vector and a matrix that reads every weight once. The chains of
// additions (AVX3: two vectors of a pair of panels; AVX2: eight of four; NEON: four of one) take 16
// bytes or more per cycle, above what one core gets from memory.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/matmul/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// What every tile uses.
struct MatMul {
  const TensorView* x;
  const TensorView* y;
  const float* weights;
  const float* bias;
  Activation activation;
  int64_t panel_elements;
  int64_t pass_panels;
};

// Rows [first, first + row_count), at most a tile, and `panels`. `number`: of the tile in its
// pass.
void run_rows(const MatMul& matmul, int64_t first, int32_t row_count, Range panels,
              int64_t number) {
  const TensorView& x = *matmul.x;
  const TensorView& y = *matmul.y;
  const int32_t columns = y.shape.dims[1];
  const TileFunctions functions(row_count, columns, y.shape.dims[0] == 1);
  const float* inputs[kMaxTilePixels];
  for (int i = 0; i < tile_size_for(row_count); ++i)
    inputs[i] = x.as<const float>() + (first + (i < row_count ? i : row_count - 1)) * x.strides[0];
  PanelTile tile = {
      .inputs = inputs,
      .depth = x.shape.dims[1],
      .panel_elements = matmul.panel_elements,
      .weights = nullptr,
      .bias = nullptr,
      .ahead = 0,
      .y = nullptr,
      .y_stride = y.strides[0],
      .pixel_count = row_count,
      .last_lanes = kChannelPanel,
      .low = matmul.activation.low,
      .high = matmul.activation.high,
  };

  int panel_count = 0;
  for (int32_t panel = panels.begin; panel < panels.end; panel += panel_count) {
    panel_count = panels.end - panel < functions.most_panels ? 1 : functions.most_panels;
    const int32_t column = panel * kChannelPanel;
    const int32_t columns_left = columns - (panel + panel_count - 1) * kChannelPanel;
    const int32_t lanes = columns_left < kChannelPanel ? columns_left : kChannelPanel;
    const PanelOutput output = {&matmul.activation, lanes, lanes};
    tile.weights = matmul.weights + panel * matmul.panel_elements;
    tile.bias = matmul.bias + column;
    tile.ahead =
        ahead_of(tile.weights, panel_count, matmul.panel_elements, matmul.pass_panels, number);
    tile.last_lanes = lanes;
    tile.y = y.as<float>() + first * y.strides[0] + column;
    run_tile(tile, functions, panel_count, output);
  }
}

void matmul_f32(const KernelArgs& args) {
  const auto& params = args.params_as<MatMulParams>();
  const TensorView& x = args.operands[0];
  const MatMulWork work = matmul_work(x.shape, args.output().shape, args.part_dim, args.part);
  MatMul matmul = {
      .x = &x,
      .y = &args.output(),
      .weights = args.operands[1].as<const float>(),
      .bias = args.operands[2].as<const float>(),
      .activation =
          make_activation(params.activation, params.activation_alpha, params.activation_beta),
      .panel_elements = int64_t{x.shape.dims[1]} * kChannelPanel,
      .pass_panels = 0,
  };
  const bool is_row = args.output().shape.dims[0] == 1;
  matmul.pass_panels = pass_panels_for(matmul.panel_elements, is_row ? kRowPanels : kTilePanels);
  const int tile_pixels =
      tile_pixels_for(x.strides[0], tile_pixels_of_channels(args.output().shape.dims[1]));
  for (int64_t task = args.task_begin; task < args.task_end;) {
    const PanelRectangle rectangle =
        take_rectangle(work.blocks, 1, work.panels, args.task_end, &task);
    const PixelRange rows = pixels_of(rectangle, work.blocks, work.rows, 0);
    const int64_t tiles = ceil_div(rows.end - rows.begin, tile_pixels);
    Range pass = rectangle.panels;
    for (; pass.begin < rectangle.panels.end; pass.begin = pass.end) {
      pass.end = rectangle.panels.end - pass.begin > matmul.pass_panels
                     ? pass.begin + static_cast<int32_t>(matmul.pass_panels)
                     : rectangle.panels.end;
      for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t begin = rows.begin + (rows.end - rows.begin) * tile / tiles;
        const int64_t next = rows.begin + (rows.end - rows.begin) * (tile + 1) / tiles;
        run_rows(matmul, begin, static_cast<int32_t>(next - begin), pass, tile);
      }
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(matmul_f32_cpu, matmul_f32);
}
#endif
