// MatMul is the fully connected layer: y = activation(x w + bias) with constant weights. All
// operands are f32; of matmul_f32_cpu, all but the bias may be f16. Of matmul_q8_cpu, x and w are
// i8, and y i8 or f32; k is at most 2^16. Of kernels with kBlocks, w may be u8: integers of 4 or 8
// bits (block_panels.h); of a CPU kernel x and y have one dtype then.
//
//   x     [m, k]   Plain
//   w     [k, n]   Packed: [ceil(n/16)][k][16], lanes past n are zero; matmul_pack()
//   bias  [n]      Packed: [round_up(n, 16)], zero past n
//   y     [m, n]   Plain; must not alias an input
//
// A part is a range of columns: part_dim OutputChannel. activation: a Unary member.
#pragma once

#include "kernels/common/gemm/block_panels.h"
#include "kernels/common/gemm/byte_panels.h"
#include "kernels/common/gemm/panel_tile.h"

namespace codl::kernels {

// `dims` are [k, n].
constexpr uint64_t matmul_packed_elements(const int32_t* dims) {
  return static_cast<uint64_t>(panel_channels(dims[1])) * static_cast<uint64_t>(dims[0]);
}

// Counts the bytes of the packing in byte_panels.h, for weights of 8 bits.
constexpr uint64_t matmul_packed_bytes(const int32_t* dims) {
  return static_cast<uint64_t>(ceil_div(dims[1], kChannelPanel) * byte_panel_bytes(1, dims[0]));
}

// Counts the bytes of the packing in block_panels.h.
constexpr uint64_t matmul_packed_bytes(const int32_t* dims, WeightBlocks blocks) {
  return static_cast<uint64_t>(ceil_div(dims[1], kChannelPanel) *
                               block_panel_bytes(blocks, dims[0]));
}

// Packs `src` ([k, n] row-major) into matmul_packed_elements() floats or Halves, or
// matmul_packed_bytes() bytes, at `dst`. Bytes and blocks must lie on grids (weight_grid.h).
template <typename Element>
void matmul_pack(const int32_t* dims, const float* src, Element* dst);
void matmul_pack(const int32_t* dims, const float* src, int8_t* dst);
void matmul_pack(const int32_t* dims, const float* src, WeightBlocks blocks, uint8_t* dst);

// Up to so many rows of x, reading the weights takes the time on a GPU.
inline constexpr int32_t kMatMulFewRows = 8;

// In the rows buffer and gemv, a group computes a panel and a block of rows of y, so many together
// if there is more than one:
inline constexpr int32_t kMatMulGroupRows = 4;
constexpr int32_t matmul_group_rows(const OperandShape& y) {
  return y.dims[0] == 1 ? 1 : kMatMulGroupRows;
}
// Work-items that share a panel: 1000 outputs give 63 panels, too few for a GPU by themselves; a
// power of two, at least half a warp.
inline constexpr int32_t kMatMulGroupItems = 16;
// The same where neighbours read neighbouring quads: 256 of them have 8 reads each in flight.
inline constexpr int32_t kMatMulGemvItems = 256;

// Describes the part that a CPU step computes and how it is cut into tasks: as in Conv2d, with the
// rows of x for pixels.
struct MatMulWork {
  Range panels;
  int64_t rows;
  PanelBlocks blocks;
  int64_t task_count;
};

// Counts the bytes of a panel of weights as a CPU kernel goes through it: those of blocks become
// what x is, unless there is a single row.
constexpr int64_t matmul_panel_bytes(const OperandShape& x, const OperandShape& w) {
  if (w.dtype == DType::U8 && x.dims[0] == 1) return block_panel_bytes(blocks_of(w), x.dims[1]);
  return int64_t{x.dims[1]} * kChannelPanel *
         (w.dtype == DType::U8 ? element_bytes(x) : element_bytes(w));
}
// Panels of blocks that are made what x is at a time.
inline constexpr int32_t kMatMulWidenedPanels = kPanelTileMaxPanels;

constexpr MatMulWork matmul_work(const OperandShape& x, const OperandShape& w,
                                 const OperandShape& y, SplitDim part_dim, Range part) {
  MatMulWork work = {};
  const Range columns = channels_of_part(part_dim, part, y);
  work.panels = {columns.begin / kChannelPanel,
                 static_cast<int32_t>(ceil_div(columns.end, kChannelPanel))};
  work.rows = x.dims[0];
  work.blocks =
      panel_blocks(1, work.rows, work.panels.count(), x.dims[1], matmul_panel_bytes(x, w));
  work.task_count = work.blocks.pixel_blocks * work.blocks.panel_blocks;
  return work;
}

}  // namespace codl::kernels
