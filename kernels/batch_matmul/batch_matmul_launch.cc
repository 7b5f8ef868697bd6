#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/launch/cl_launch.h"

namespace codl::kernels {
namespace {

// clang-format off
// Sizes and steps in elements.
#define CODL_ARGS_Product(A, p) \
  A(int, m) A(int, n) A(int, k) A(int, a_row) A(int, a_depth) A(int, b_depth) A(int, b_column)
// Holds an axis of the batch and its steps in a and b.
#define CODL_ARGS_BatchAxis(A, p) A(int, p##extent) A(int, p##a) A(int, p##b)
#define CODL_ARGS_BatchMatMulBuffer(A, G, N)                 \
  A(int, column_tiles) A(int, row_tiles) A(int, batch_count) \
  G(Product, product) N(6, BatchAxis, batch)
#define CODL_ARGS_BatchMatMulTiled(A, G, N) \
  A(int, column_tiles) G(Product, product) N(6, BatchAxis, batch)
// clang-format on
CODL_CL_GROUP(Product);
CODL_CL_GROUP(BatchAxis);
CODL_CL_ARGS(BatchMatMulBuffer);
CODL_CL_ARGS(BatchMatMulTiled);

constexpr int32_t kMaxBatchAxes = kMaxRank - 2;

// Returns the steps of operand 0 (a) or 1 (b) from product to product, or-ed.
int64_t batch_step(const BatchMatMulWork& work, uint32_t operand) {
  int64_t all = 0;
  for (int32_t i = 0; i < work.batch.count; ++i) all |= work.batch.steps[i][operand];
  return all;
}

ProductArgs product_args(const BatchMatMulWork& work) {
  return {.m = static_cast<int32_t>(work.m),
          .n = static_cast<int32_t>(work.n),
          .k = static_cast<int32_t>(work.k),
          .a_row = static_cast<int32_t>(work.a_row),
          .a_depth = static_cast<int32_t>(work.a_depth),
          .b_depth = static_cast<int32_t>(work.b_depth),
          .b_column = static_cast<int32_t>(work.b_column)};
}

// The innermost axis comes last; those in front that there are not have one product.
void set_batch(const LoopAxes& batch, BatchAxisArgs (&out)[kMaxBatchAxes]) {
  const int32_t missing = kMaxBatchAxes - batch.count;
  for (int32_t i = 0; i < kMaxBatchAxes; ++i)
    out[i] = i < missing ? BatchAxisArgs{1, 0, 0}
                         : BatchAxisArgs{static_cast<int32_t>(batch.extents[i - missing]),
                                         static_cast<int32_t>(batch.steps[i - missing][0]),
                                         static_cast<int32_t>(batch.steps[i - missing][1])};
}

// Defines whether four neighbours of a in depth, of b and of a row of y are one aligned quad: no
// step moves them from a multiple of four elements. b's are `has_rows_of_b` ? columns : depths.
void define_quads(const BatchMatMulWork& work, bool has_rows_of_b, ClLaunch* out) {
  const int64_t b_steps = has_rows_of_b ? work.n | work.b_depth : work.k | work.b_column;
  const int64_t b_neighbour = has_rows_of_b ? work.b_column : work.b_depth;
  const bool has_quads_of_a =
      work.a_depth == 1 && (work.k | work.a_row | batch_step(work, 0)) % 4 == 0;
  const bool has_quads_of_b = b_neighbour == 1 && (b_steps | batch_step(work, 1)) % 4 == 0;
  out->define("HAS_QUADS_OF_A", has_quads_of_a ? 1 : 0);
  out->define("HAS_QUADS_OF_B", has_quads_of_b ? 1 : 0);
  out->define("HAS_WHOLE_QUADS", work.n % 4 == 0 ? 1 : 0);
}

void launch_tiled(const StepShape& step, const BatchMatMulWork& work, ClLaunch* out) {
  define_quads(work, true, out);
  BatchMatMulTiledArgs args = {
      .column_tiles = set_gemm(gemm_tile_of(step), work.m, ceil_div(work.n, kChannelPanel), out),
      .product = product_args(work),
      .batch = {}};
  out->global[1] = static_cast<uint64_t>(work.batch_count);
  set_batch(work.batch, args.batch);
  out->add(args);
}

void launch_buffer(const StepShape& step, const BatchMatMulWork& work, ClLaunch* out) {
  const int32_t columns = batch_matmul_item_columns(step);
  const bool has_rows_of_b = work.b_column == 1 && work.n >= columns;
  if (columns == kBatchMatMulFewColumns) define_quads(work, has_rows_of_b, out);
  out->define("COLUMNS", columns);
  out->define("HAS_ROWS_OF_B", has_rows_of_b ? 1 : 0);
  out->define("DEPTHS", batch_matmul_depths(work, columns));
  const int64_t column_tiles = ceil_div(work.n, columns);
  const int64_t row_tiles = ceil_div(work.m, kBatchMatMulItemRows);
  set_grid(step, column_tiles, row_tiles, work.batch_count, out);
  BatchMatMulBufferArgs args = {.column_tiles = static_cast<int32_t>(column_tiles),
                                .row_tiles = static_cast<int32_t>(row_tiles),
                                .batch_count = static_cast<int32_t>(work.batch_count),
                                .product = product_args(work),
                                .batch = {}};
  set_batch(work.batch, args.batch);
  out->add(args);
}

}  // namespace

void batch_matmul_launch(const StepShape& step, ClLaunch* out_launch) {
  const BatchMatMulWork work = batch_matmul_work(step.params_as<BatchMatMulParams>(),
                                                 step.operands[0], step.operands[1], step.output());
  if (step.kernel->algorithm == Algorithm::Tiled) return launch_tiled(step, work, out_launch);
  launch_buffer(step, work, out_launch);
}

}  // namespace codl::kernels
