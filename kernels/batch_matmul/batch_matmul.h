// BatchMatMul: y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]; the dims in front
// broadcast like numpy's. is_a_transposed, is_b_transposed: a[..., k, m], b[..., n, k].
//
//   a, b, y   Plain of rank >= 2 and of one dtype: f32, or an integer, which wraps
//
// Neither is packed: both may be computed. No parts. The order of additions into an element is k's
// in every kernel but the reference, which adds in double. y must not overlap a or b.
#pragma once

#include "kernels/common/contract/broadcast.h"
#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/contract/tasks.h"
#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/common/gemm/panel_tile.h"

namespace codl::kernels {

// Extents, and strides in elements, of one product and of the batch, for operands that have passed
// the contract.
struct BatchMatMulWork {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  int64_t a_row = 1;     // from a's m to m + 1
  int64_t a_depth = 1;   // from a's k to k + 1
  int64_t b_depth = 1;   // from b's k to k + 1
  int64_t b_column = 1;  // from b's n to n + 1
  LoopAxes batch;        // inputs: a, b
  int64_t batch_count = 1;
};

constexpr BatchMatMulWork batch_matmul_work(const BatchMatMulParams& params, const OperandShape& a,
                                            const OperandShape& b, const OperandShape& y) {
  BatchMatMulWork work;
  const int64_t a_last = a.dims[a.rank - 1];
  const int64_t b_last = b.dims[b.rank - 1];
  work.m = y.dims[y.rank - 2];
  work.n = y.dims[y.rank - 1];
  work.k = params.is_a_transposed != 0 ? a.dims[a.rank - 2] : a_last;
  (params.is_a_transposed != 0 ? work.a_depth : work.a_row) = a_last;
  (params.is_b_transposed != 0 ? work.b_column : work.b_depth) = b_last;
  int64_t steps[kMaxRank][2] = {};
  int64_t stride_a = work.m * work.k;
  int64_t stride_b = work.n * work.k;
  for (int32_t i = y.rank - 3; i >= 0; --i) {
    const int32_t dim_a = broadcast_dim(a, y, i);
    const int32_t dim_b = broadcast_dim(b, y, i);
    steps[i][0] = dim_a == 1 ? 0 : stride_a;
    steps[i][1] = dim_b == 1 ? 0 : stride_b;
    stride_a *= dim_a;
    stride_b *= dim_b;
  }
  for (int32_t i = 0; i + 2 < y.rank; ++i) {
    work.batch.append(y.dims[i], steps[i][0], steps[i][1]);
    work.batch_count *= y.dims[i];
  }
  // One b for rows that follow each other: they are rows of one product.
  if (work.batch.count == 1 && work.batch.steps[0][1] == 0 && work.a_depth == 1 &&
      work.batch.steps[0][0] == work.m * work.k) {
    work.a_row = work.k;  // a transposed a of one row says 1
    work.m *= work.batch_count;
    work.batch_count = 1;
    work.batch = {};
  }
  return work;
}

// ---- the CPU kernel ----

// k goes in blocks, so that the panels of b that a worker packs fit half of a second-level cache.
inline constexpr int64_t kBatchMatMulDepth = 2048;
// Elements between the rows of a transposed a that a worker packs: they must not be a multiple of
// 4096 bytes apart.
inline constexpr int64_t kBatchMatMulRowGap = 16;
// A unit of work has so many columns: the two panels that AVX3 computes at once.
inline constexpr int64_t kBatchMatMulColumns = 2 * kChannelPanel;

// A unit of work is a block of rows and columns of one product. Units that follow each other share
// their columns of b.
struct BatchMatMulUnits {
  int64_t row_blocks;
  int64_t column_blocks;
  int64_t count;
  int32_t task_count;
};

constexpr BatchMatMulUnits batch_matmul_units(const BatchMatMulWork& work) {
  // Below this a unit packs b for few multiply-adds; a multiple of 14 and 6, the rows of tiles.
  constexpr int64_t kMinRows = 84;
  BatchMatMulUnits units = {};
  units.column_blocks = ceil_div(work.n, kBatchMatMulColumns);
  const int64_t blocks = work.batch_count * units.column_blocks;
  const int64_t wanted = ceil_div(kMaxTasks, blocks);
  const int64_t most = ceil_div(work.m, kMinRows);
  units.row_blocks = wanted < most ? wanted : most;
  units.count = blocks * units.row_blocks;
  // A multiply-add takes about a sixteenth of the time of an element that is moved.
  units.task_count = task_count_for(units.count, work.batch_count * work.m * work.n / 16 * work.k);
  return units;
}

// These count the elements of a worker's packed b, and of its packed a, which comes after it.
constexpr int64_t packed_depth(const BatchMatMulWork& work) {
  return work.k < kBatchMatMulDepth ? work.k : kBatchMatMulDepth;
}
constexpr int64_t packed_b_elements(const BatchMatMulWork& work) {
  return packed_depth(work) * kBatchMatMulColumns;
}
constexpr int64_t packed_a_elements(const BatchMatMulWork& work) {
  if (work.a_depth == 1) return 0;
  return kPanelTileMaxPixels * (packed_depth(work) + kBatchMatMulRowGap);
}

// ---- the buffer kernel ----

// A work-item computes 4 rows of 8 columns, or of 4, which may load 4 depths at once. There are no
// tile numbers, or the local sizes, or those and the columns.
inline constexpr int32_t kBatchMatMulItemRows = 4;
inline constexpr int32_t kBatchMatMulItemColumns = 8;
inline constexpr int32_t kBatchMatMulFewColumns = 4;
inline constexpr uint32_t kBatchMatMulTileInts = 4;

constexpr int32_t batch_matmul_item_columns(const StepShape& step) {
  return step.tile_count == kBatchMatMulTileInts ? step.tile[3] : kBatchMatMulItemColumns;
}
// Returns the depths that an item of so many columns loads at once: neighbours in memory.
constexpr int32_t batch_matmul_depths(const BatchMatMulWork& work, int32_t columns) {
  const bool has_quads = columns == kBatchMatMulFewColumns && work.a_depth == 1 &&
                         (work.b_depth == 1 || (work.b_column == 1 && work.n >= columns));
  return has_quads ? 4 : 1;
}

constexpr GemmSize batch_matmul_gemm_size(const BatchMatMulWork& work) {
  return {work.m, work.n, work.k, work.batch_count};
}

void batch_matmul_ref(const KernelArgs& args);
void batch_matmul_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
