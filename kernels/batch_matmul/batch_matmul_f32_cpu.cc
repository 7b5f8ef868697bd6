// Multiplies two computed matrices with the micro-kernel of Conv2d and MatMul
// (common/panel_tile-inl.h), which takes one tap and reads rows of a as pixels. The columns of b
// that a unit of work needs are copied into panels first; rows of a are read where they are, unless
// a is transposed.
//
// k is divided into blocks of kBatchMatMulDepth; from the second block on, the sums so far are the
// residual. So the order of additions depends on k alone.
#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/cpu/cpu_dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batch_matmul/batch_matmul_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

alignas(64) constexpr float kNoBias[kBatchMatMulColumns] = {};

// Writes [depth][16] from b's first column of the panel; the lanes behind `columns` become zero.
void pack_panel(const BatchMatMulWork& work, const float* b, int64_t depth, int64_t columns,
                float* to) {
  const PanelTag d;
  if (work.b_column == 1) {
    for (int64_t k = 0; k < depth; ++k, b += work.b_depth, to += kChannelPanel)
      for (int lane = 0; lane < kChannelPanel; lane += kPanelLanes)
        hn::StoreU(load_lanes(d, b + lane, columns - lane), d, to + lane);
    return;
  }
  if (columns < kChannelPanel)
    for (int64_t i = 0; i < depth * kChannelPanel; ++i) to[i] = 0.0f;
  for (int64_t k = 0; k < depth; ++k, ++b, to += kChannelPanel)
    for (int64_t lane = 0; lane < columns && lane < kChannelPanel; ++lane)
      to[lane] = b[lane * work.b_column];
}

// Copies rows of a transposed a; they lie `stride` apart in `to`.
void pack_rows(const BatchMatMulWork& work, const float* a, int64_t depth, int64_t rows,
               int64_t stride, float* to) {
  for (int64_t k = 0; k < depth; ++k, a += work.a_depth)
    for (int64_t row = 0; row < rows; ++row) to[row * stride + k] = a[row];
}

// Describes a block of k of a unit of work.
struct DepthBlock {
  const float* a;  // the first row, at the first k of the block
  int64_t depth;
  bool is_first;
  const float* panels;  // packed b
  int64_t columns;      // columns in the unit
};

// Rows [first, first + count), at most a tile; `y` is of the unit's first column in the first row.
void multiply_tile(const BatchMatMulWork& work, const DepthBlock& block,
                   const Activation& activation, int64_t first, int32_t count, float* packed_rows,
                   float* y) {
  const float* inputs[kMaxTilePixels];
  const float* rows = block.a + first * work.a_row;
  int64_t stride = work.a_row;
  if (work.a_depth != 1) {
    stride = packed_depth(work) + kBatchMatMulRowGap;
    pack_rows(work, rows, block.depth, count, stride, packed_rows);
    rows = packed_rows;
  }
  for (int i = 0; i < tile_size_for(count); ++i)
    inputs[i] = rows + (i < count ? i : count - 1) * stride;

  const TileFunctions<FloatSums<float>> functions(count, block.columns);
  const auto panels = static_cast<int>(ceil_div(block.columns, kChannelPanel));
  for (int panel = 0; panel < panels; panel += kTilePanels) {
    const int panel_count = panels - panel < kTilePanels ? panels - panel : kTilePanels;
    const int64_t left = block.columns - int64_t{panel + panel_count - 1} * kChannelPanel;
    const int32_t lanes = left < kChannelPanel ? static_cast<int32_t>(left) : kChannelPanel;
    float* to = y + first * work.n + int64_t{panel} * kChannelPanel;
    const PanelTile<float> tile = {
        .inputs = inputs,
        .depth = block.depth,
        .panel_elements = block.depth * kChannelPanel,
        .weights = block.panels + panel * kChannelPanel * block.depth,
        .bias = kNoBias,
        .ahead = reinterpret_cast<uintptr_t>(block.panels),  // none: it is all there
        .pixel_count = count,
    };
    const PanelOutput<float> output = {
        .activation = &activation,
        .residual = block.is_first ? nullptr : to,
        .residual_stride = work.n,
        .y = to,
        .y_stride = work.n,
        .lanes = {lanes, lanes},
    };
    run_tile(tile, functions, panel_count, output);
  }
}

void multiply_rows(const BatchMatMulWork& work, const DepthBlock& block, Range rows,
                   float* packed_rows, float* y) {
  const Activation activation = make_activation(kUnaryIdentity, 0.0f, 0.0f);
  const int64_t count = rows.count();
  const int most = tile_pixels_of_channels(block.columns);
  const int64_t tiles =
      ceil_div(count, work.a_depth == 1 ? tile_pixels_for(work.a_row, most) : most);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t begin = rows.begin + count * tile / tiles;
    const int64_t end = rows.begin + count * (tile + 1) / tiles;
    multiply_tile(work, block, activation, begin, static_cast<int32_t>(end - begin), packed_rows,
                  y);
  }
}

void batch_matmul_f32(const KernelArgs& args) {
  const TensorView* operands = args.operands;
  const BatchMatMulWork work = batch_matmul_work(
      args.params_as<BatchMatMulParams>(), operands[0].shape, operands[1].shape, operands[2].shape);
  const BatchMatMulUnits units = batch_matmul_units(work);
  const Units mine = units_of_tasks(units.count, units.task_count, args.task_begin, args.task_end);
  float* packed_b = static_cast<float*>(args.scratch);
  float* packed_rows = packed_b + packed_b_elements(work);
  int64_t packed_columns = -1;  // the number of the block of columns that packed_b holds
  for (int64_t unit = mine.begin; unit < mine.end; ++unit) {
    const int64_t row_block = unit % units.row_blocks;
    const int64_t columns_id = unit / units.row_blocks;
    const int64_t batch = columns_id / units.column_blocks;
    const int64_t column = columns_id % units.column_blocks * kBatchMatMulColumns;
    const LoopAxes::Run run = work.batch.run_at(batch, batch + 1);
    const float* a = operands[0].as<const float>() + run.offsets[0];
    const float* b = operands[1].as<const float>() + run.offsets[1] + column * work.b_column;
    float* y = operands[2].as<float>() + batch * work.m * work.n + column;
    const Range rows = {static_cast<int32_t>(work.m * row_block / units.row_blocks),
                        static_cast<int32_t>(work.m * (row_block + 1) / units.row_blocks)};
    const int64_t columns =
        work.n - column < kBatchMatMulColumns ? work.n - column : kBatchMatMulColumns;
    for (int64_t k = 0; k < work.k; k += kBatchMatMulDepth) {
      const int64_t depth = work.k - k < kBatchMatMulDepth ? work.k - k : kBatchMatMulDepth;
      if (depth < work.k || packed_columns != columns_id)
        for (int64_t i = 0; i < columns; i += kChannelPanel)
          pack_panel(work, b + k * work.b_depth + i * work.b_column, depth, columns - i,
                     packed_b + i * depth);
      packed_columns = columns_id;
      const DepthBlock block = {a + k * work.a_depth, depth, k == 0, packed_b, columns};
      multiply_rows(work, block, rows, packed_rows, y);
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(batch_matmul_f32_cpu, batch_matmul_f32);
}
#endif
