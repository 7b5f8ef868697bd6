// y = activation(x w + bias) with constant w and few rows, for GPUs: as fast as the weights come
// from memory. w and bias at a multiple of 16 bytes; ITEMS is a power of two, at least 8.
//
// Work-item 4 i + q takes lanes 4 q to 4 q + 3 of depths 4 i to 4 i + 3, then of those ITEMS
// further on: four neighbours read 64 bytes that follow each other. Their sums are added in pairs.
// Per four depths: ROWS * 16 multiply-adds for 4 + ROWS loads of 16 bytes. Registers: ROWS sums, 4
// rows of weights and ROWS of x, of 4 floats each; a loop of one row has 8 rows of weights in
// flight.
//
// Define: HAS_QUADS_OF_X, k is a multiple of 4 and x at a multiple of 16 bytes.
#include "kernels/matmul/matmul_rows.cl"

#if HAS_QUADS_OF_X
#define LOAD_OF_X(p) FACTOR4(TYPE_0, p)
#else
#define LOAD_OF_X(p) FACTORS_4(TYPE_0, p)
#endif
#if ROWS == 1
#define PASSES 2
#else
#define PASSES 1
#endif

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void matmul_f32_cl_gemv(MATMUL_PARAMS) {
  START_ROWS(4, 4)
  int i = id / 4 * 4;
  global const WEIGHT_TYPE* const w_panel = PANEL_OF(w, panel, k);
  const int lane = id % 4 * 4;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) x_row[r] += i;
  EACH_RUN((k - i + ITEMS - 4) / ITEMS, run) {
    const int end = i + run * ITEMS;
#pragma unroll PASSES
    for (; i < end; i += ITEMS) {
      ACC4 weights[4];
      WEIGHTS_4X4(w_panel, i, lane, weights)
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const ACC4 of_x = LOAD_OF_X(x_row[r]);
        x_row[r] += ITEMS;
        sum[r] += (ACC4)(of_x.x) * weights[0];
        sum[r] += (ACC4)(of_x.y) * weights[1];
        sum[r] += (ACC4)(of_x.z) * weights[2];
        sum[r] += (ACC4)(of_x.w) * weights[3];
      }
    }
    END_RUN(4, sum, ROWS, 4, run)
  }
#if !HAS_QUADS_OF_X
  for (; i < k; ++i) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      sum[r] += (ACC4)(FACTOR(TYPE_0, x_row[r]++, 0)) * WEIGHTS_4(w_panel, i, lane);
  }
#endif
  END_ROWS(4)
  for (int half_items = ITEMS / 2; half_items >= 4; half_items /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < half_items) {
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
        partial[r * ITEMS + id] += partial[r * ITEMS + id + half_items];
    }
  }
  // The sums of the first four are complete, and each reads its own.
  const int column = panel * 16 + id * 4;
  if (id >= 4 || column >= n) return;
  for (int r = 0; r < ROWS && first + r < m; ++r) {
    const float4 total = partial[r * ITEMS + id] + LOAD_QUAD(float, bias + column);
    const float4 v = ACTIVATE(total, alpha, beta);
    STORE_LANES4(TYPE_Y, v, y + (first + r) * n + column, n - column);
  }
}
