// Computes y = activation(x w + bias) with constant w, in tiles of local memory.
//
//   x  [m, k], k a multiple of 4    w  [panel][k][16]    bias  [round_up(n, 16)]    y  [m, n]
//   each at a multiple of 16 bytes (8 of halves)
//
// Defines: those of gemm_tile.cl and matmul_weights.cl; HAS_WHOLE_QUADS, n is a multiple of 4;
// ACTIVATION.
#include "kernels/common/gemm/gemm_tile.cl"
#include "kernels/matmul/matmul_weights.cl"

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void matmul_f32_cl_tiled(
    global const TYPE_0* restrict x, global const WEIGHT_TYPE* restrict w,
    global const float* restrict bias, global TYPE_Y* restrict y PARAMS(MatMulTiled)) {
  local float memory[LOCAL_FLOATS] __attribute__((aligned(16)));
  const TilePlace place = tile_place();
  const int first_panel = panel_begin + (int)get_group_id(0) % column_tiles * (TILE_N / 16);
  const int first_row = (int)get_group_id(0) / column_tiles * TILE_M;
  // Offsets fit an int: the contract bounds x and w.
  int x_offset[A_LOADS];
#pragma unroll
  for (int i = 0; i < A_LOADS; ++i) x_offset[i] = min(first_row + a_load_m(i), m - 1) * k;

#define LOAD(step)                                                                         \
  _Pragma("unroll") for (int i = 0; i < A_LOADS; ++i) {                                    \
    const int at = (step)*TILE_K + a_load_k();                                             \
    a_quads[i] = at < k ? FACTOR4(TYPE_0, x + x_offset[i] + at) : (ACC4)(0);               \
  }                                                                                        \
  _Pragma("unroll") for (int i = 0; i < B_LOADS; ++i) {                                    \
    const int panel = min(first_panel + b_load_panel(i), panel_end - 1);                   \
    const int at = (step)*TILE_K + b_load_k(i);                                            \
    b_quads[i] = at < k ? WEIGHTS_4(PANEL_OF(w, panel, k), at, b_load_lane()) : (ACC4)(0); \
  }

  MULTIPLY_TILES(memory, k, place, sums, LOAD)

#pragma unroll
  for (int j = 0; j < QUADS_N; ++j) {
    const int column = first_panel * 16 + sum_column(place, j);
    if (column >= min(n, panel_end * 16)) continue;
    const float4 start = *(global const float4*)(bias + column);
#pragma unroll
    for (int i = 0; i < ITEM_M; ++i) {
      const int row = first_row + sum_row(place, i);
      if (row >= m) continue;
      const float4 sum = sums[i * QUADS_N + j] + start;
      const float4 v = ACTIVATE(sum, alpha, beta);
      STORE_COLUMNS(TYPE_Y, v, y + row * n + column, n - column);
    }
  }
}
