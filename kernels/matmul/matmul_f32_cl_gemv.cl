// y = activation(x w + bias) with constant w and few rows, for GPUs: as fast as the weights come
// from memory. w and bias at a multiple of 16 bytes; ITEMS is a power of two, at least 8.
//
// Work-item 4 i + q takes lanes 4 q to 4 q + 3 of depths i, i + ITEMS / 4, ...: neighbours read
// neighbouring 16 bytes. Their sums are added in pairs.
// Per depth: ROWS * 4 multiply-adds for one load of 16 bytes and ROWS scalar loads, 8 depths in
// flight. Registers: ROWS sums and 8 rows of weights, of 4 floats each.
#include "kernels/matmul/matmul_rows.cl"

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void matmul_f32_cl_gemv(MATMUL_PARAMS) {
  START_ROWS(float4)
  global const float4* const w_panel = (global const float4*)(w + panel * k * 16);
#pragma unroll 8
  for (int i = id / 4; i < k; i += ITEMS / 4) {
    const float4 weights = w_panel[i * 4 + id % 4];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] += (float4)(x_row[r][i]) * weights;
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) partial[r * ITEMS + id] = sum[r];
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
    const float4 total = partial[r * ITEMS + id] + *(global const float4*)(bias + column);
    const float4 v = ACTIVATE(total, alpha, beta);
    store_lanes4(v, y + (first + r) * n + column, n - column);
  }
}
