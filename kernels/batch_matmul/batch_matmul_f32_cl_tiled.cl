// Computes y[m, n] = a[m, k] b[k, n] for every product of a batch, in tiles of local memory.
//
//   a, b, y  Plain buffers, each at a multiple of 16 bytes (8 of halves); strides are in elements
//
// Defines: those of gemm_tile.cl; HAS_QUADS_OF_A, HAS_QUADS_OF_B: four neighbours in depth of a, in
// a row of b are one aligned quad, else they are loaded one by one.
#include "kernels/batch_matmul/batch_axes.cl"
#include "kernels/common/gemm/gemm_tile.cl"

// The first `count` of four elements, `stride` apart; zeros for the others.
#define LOAD_APART(type, p, stride, count)                                                \
  (ACC4)((count) > 0 ? FACTOR(type, p, 0) : 0, (count) > 1 ? FACTOR(type, p, stride) : 0, \
         (count) > 2 ? FACTOR(type, p, 2 * (stride)) : 0,                                 \
         (count) > 3 ? FACTOR(type, p, 3 * (stride)) : 0)
#define LOAD_ALIGNED(type, p, count) ((count) > 0 ? FACTOR4(type, p) : (ACC4)(0))

#if HAS_QUADS_OF_A
#define LOAD_A(p, count) LOAD_ALIGNED(TYPE_0, p, count)
#else
#define LOAD_A(p, count) LOAD_APART(TYPE_0, p, a_depth, count)
#endif
#if HAS_QUADS_OF_B
#define LOAD_B(p, count) LOAD_ALIGNED(TYPE_1, p, count)
#else
#define LOAD_B(p, count) LOAD_APART(TYPE_1, p, b_column, count)
#endif

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void batch_matmul_f32_cl_tiled(
    global const TYPE_0* restrict a, global const TYPE_1* restrict b,
    global TYPE_Y* restrict y PARAMS(BatchMatMulTiled)) {
  local float memory[LOCAL_FLOATS] __attribute__((aligned(16)));
  const TilePlace place = tile_place();
  const int first_column = (int)get_group_id(0) % column_tiles * TILE_N;
  const int first_row = (int)get_group_id(0) / column_tiles * TILE_M;
  int id = get_group_id(1);
  y += id * m * n;
  STEP_TO_PRODUCT(id, a, b)
  // Offsets fit an int: the contract bounds the operands.
  int a_offset[A_LOADS];
#pragma unroll
  for (int i = 0; i < A_LOADS; ++i) a_offset[i] = min(first_row + a_load_m(i), m - 1) * a_row;

#define LOAD(step)                                                                      \
  _Pragma("unroll") for (int i = 0; i < A_LOADS; ++i) {                                 \
    const int at = (step)*TILE_K + a_load_k();                                          \
    a_quads[i] = LOAD_A(a + a_offset[i] + at * a_depth, k - at);                        \
  }                                                                                     \
  _Pragma("unroll") for (int i = 0; i < B_LOADS; ++i) {                                 \
    const int column = first_column + b_load_panel(i) * 16 + b_load_lane();             \
    const int at = (step)*TILE_K + b_load_k(i);                                         \
    b_quads[i] = LOAD_B(b + at * b_depth + column * b_column, at < k ? n - column : 0); \
  }

  MULTIPLY_TILES(memory, k, place, sums, LOAD)

#pragma unroll
  for (int j = 0; j < QUADS_N; ++j) {
    const int column = first_column + sum_column(place, j);
    if (column >= n) continue;
#pragma unroll
    for (int i = 0; i < ITEM_M; ++i) {
      const int row = first_row + sum_row(place, i);
      if (row < m)
        STORE_COLUMNS(TYPE_Y, sums[i * QUADS_N + j], y + row * n + column, n - column);
    }
  }
}
