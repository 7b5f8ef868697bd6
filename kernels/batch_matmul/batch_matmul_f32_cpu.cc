// Multiplies two computed matrices, of floats or of halves, as MatMul does
// (common/gemm/panel_rows_f32_cpu.cc). The columns of b that a unit of work needs are copied into
// panels first; rows of a are read where they are, unless a is transposed.
//
// k is divided into blocks of kBatchMatMulDepth; from the second block on, products are added to
// the sums so far. So the order of additions depends on k alone.
#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "schema/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batch_matmul/batch_matmul_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

alignas(64) constexpr float kNoBias[kBatchMatMulColumns] = {};

// Writes [depth][16] from b's first column of the panel; the lanes behind `columns` become zero.
template <class T>
void pack_panel(const BatchMatMulWork& work, const T* b, int64_t depth, int64_t columns, T* to) {
  const bool is_whole = columns >= kChannelPanel;
  if (!is_whole)
    __builtin_memset(static_cast<void*>(to), 0,
                     static_cast<size_t>(depth * kChannelPanel) * sizeof(T));
  for (int64_t k = 0; k < depth; ++k, b += work.b_depth, to += kChannelPanel) {
    if (is_whole && work.b_column == 1) {
      __builtin_memcpy(to, b, kChannelPanel * sizeof(T));
      continue;
    }
    for (int64_t lane = 0; lane < columns && lane < kChannelPanel; ++lane)
      to[lane] = b[lane * work.b_column];
  }
}

// Copies rows of a transposed a; they lie `stride` apart in `to`.
template <class T>
void pack_rows(const BatchMatMulWork& work, const T* a, int64_t depth, int64_t rows, int64_t stride,
               T* to) {
  for (int64_t k = 0; k < depth; ++k, a += work.a_depth)
    for (int64_t row = 0; row < rows; ++row) to[row * stride + k] = a[row];
}

// Multiplies rows [rows.begin, rows.end) of a block of k. `product` has the rows of a where they
// are.
template <class Sums, class T>
void multiply_block(const BatchMatMulWork& work, PanelRows<T> product, Range rows, T* packed_rows) {
  const Range panels = {0, static_cast<int32_t>(ceil_div(product.columns, kChannelPanel))};
  if (work.a_depth == 1) return multiply_rows<Sums>(product, rows.begin, rows.end, panels);
  const T* const a = product.x;
  T* const y = product.y;
  product.x = packed_rows;
  product.x_stride = packed_depth(work) + kBatchMatMulRowGap;
  const int64_t pieces = ceil_div(rows.count(), kPanelTileMaxPixels);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t begin = rows.begin + rows.count() * piece / pieces;
    const int64_t count = rows.begin + rows.count() * (piece + 1) / pieces - begin;
    pack_rows(work, a + begin * work.a_row, product.depth, count, product.x_stride, packed_rows);
    product.y = y + begin * product.y_stride;
    multiply_rows<Sums>(product, 0, count, panels);
  }
}

template <class Sums, class T>
void multiply(const KernelArgs& args) {
  const TensorView* operands = args.operands;
  const BatchMatMulWork work = batch_matmul_work(
      args.params_as<BatchMatMulParams>(), operands[0].shape, operands[1].shape, operands[2].shape);
  const BatchMatMulUnits units = batch_matmul_units(work);
  const Units mine = units_of_tasks(units.count, units.task_count, args.task_begin, args.task_end);
  T* packed_b = static_cast<T*>(args.scratch);
  T* packed_rows = packed_b + packed_b_elements(work);
  int64_t packed_columns = -1;  // the number of the block of columns that packed_b holds
  for (int64_t unit = mine.begin; unit < mine.end; ++unit) {
    const int64_t row_block = unit % units.row_blocks;
    const int64_t columns_id = unit / units.row_blocks;
    const int64_t batch = columns_id / units.column_blocks;
    const int64_t column = columns_id % units.column_blocks * kBatchMatMulColumns;
    const LoopAxes::Run run = work.batch.run_at(batch, batch + 1);
    const T* a = operands[0].as<const T>() + run.offsets[0];
    const T* b = operands[1].as<const T>() + run.offsets[1] + column * work.b_column;
    T* y = operands[2].as<T>() + batch * work.m * work.n + column;
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
      const PanelRows<T> product = {
          .x = a + k * work.a_depth,
          .x_stride = work.a_row,
          .depth = depth,
          .weights = packed_b,
          .bias = kNoBias,
          .y = y,
          .y_stride = work.n,
          .columns = static_cast<int32_t>(columns),
          .is_row = false,
          .brings_ahead = false,
          .adds_to_y = k > 0,
          .activation = make_activation(kUnaryIdentity, 0.0f, 0.0f),
      };
      multiply_block<Sums>(work, product, rows, packed_rows);
    }
  }
}

template <class SumsOfHalves>
void batch_matmul(const KernelArgs& args) {
  if (args.output().shape.dtype == DType::F16) return multiply<SumsOfHalves, Half>(args);
  multiply<FloatSums<float>, float>(args);
}

void batch_matmul_in_floats(const KernelArgs& args) { batch_matmul<FloatSums<Half>>(args); }
#if HWY_TARGET == HWY_NEON
void batch_matmul_in_halves(const KernelArgs& args) { batch_matmul<HalfSums>(args); }
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_HALVES(batch_matmul_f32_cpu, batch_matmul_in_floats, batch_matmul_in_halves);
}
#endif
