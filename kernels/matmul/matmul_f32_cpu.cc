// Matrix product with packed weights, Plain, float32: the micro-kernel of Conv2d
// (common/panel_tile-inl.h) with one tap, rows of x for pixels.
//
// With one row it is a product of a vector and a matrix that reads every weight once, in order. The
// two chains of additions of a pair of panels (AVX3: two vectors; AVX2, NEON: two and four of one
// panel) take 16 bytes or more per cycle, above what one core gets from memory.
#include "kernels/common/cpu_dispatch.h"
#include "kernels/matmul/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_f32_cpu.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// Rows [first, first + row_count), at most kTilePixels, and `panels`.
void run_rows(const KernelArgs& args, const Activation& activation, int64_t first,
              int32_t row_count, Range panels) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const int64_t depth = x.shape.dims[1];
  const int32_t columns = y.shape.dims[1];
  const float* inputs[kTilePixels];
  for (int i = 0; i < tile_size_for(row_count); ++i)
    inputs[i] = x.as<const float>() + (first + (i < row_count ? i : row_count - 1)) * x.strides[0];

  int panel_count = 0;
  for (int32_t panel = panels.begin; panel < panels.end; panel += panel_count) {
    panel_count = panels.end - panel < kTilePanels ? 1 : kTilePanels;
    const int32_t column = panel * kChannelPanel;
    const int32_t columns_left = columns - (panel + panel_count - 1) * kChannelPanel;
    const int32_t lanes = columns_left < kChannelPanel ? columns_left : kChannelPanel;
    const PanelOutput output = {&activation, lanes, lanes};
    const PanelTile tile = {
        .inputs = inputs,
        .first_channel = 0,
        .tap_count = 1,
        .depth = depth,
        .weights = args.operands[1].as<const float>() + column * depth,
        .bias = args.operands[2].as<const float>() + column,
        .residual = nullptr,
        .residual_stride = 0,
        .y = y.as<float>() + first * y.strides[0] + column,
        .y_stride = y.strides[0],
        .pixel_count = row_count,
        .low = 0.0f,
        .high = 0.0f,
    };
    run_tile(tile, panel_count, output);
  }
}

void matmul_f32(const KernelArgs& args) {
  const auto& params = args.params_as<MatMulParams>();
  const MatMulWork work =
      matmul_work(args.operands[0].shape, args.output().shape, args.part_dim, args.part);
  const PanelBlocks& blocks = work.blocks;
  const Activation activation =
      make_activation(params.activation, params.activation_alpha, params.activation_beta);
  const int tile_pixels = tile_pixels_for(args.operands[0].strides[0]);
  for (int64_t task = args.task_begin; task < args.task_end; ++task) {
    const int64_t first = task % blocks.pixel_blocks * blocks.pixels_per_block;
    const int64_t end =
        first + blocks.pixels_per_block < work.rows ? first + blocks.pixels_per_block : work.rows;
    const int64_t panel = work.panels.begin + task / blocks.pixel_blocks * blocks.panels_per_block;
    const int64_t panel_end = panel + blocks.panels_per_block < work.panels.end
                                  ? panel + blocks.panels_per_block
                                  : work.panels.end;
    const int64_t tiles = ceil_div(end - first, tile_pixels);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t begin = first + (end - first) * tile / tiles;
      const int64_t next = first + (end - first) * (tile + 1) / tiles;
      run_rows(args, activation, begin, static_cast<int32_t>(next - begin),
               {static_cast<int32_t>(panel), static_cast<int32_t>(panel_end)});
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
