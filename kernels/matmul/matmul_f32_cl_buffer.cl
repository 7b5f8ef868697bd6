// y = activation(x w + bias) with constant w, for few rows, where OpenCL runs on a processor: the
// fully connected layer at batch 1 is as fast as its weights come from memory.
//
// A work-item takes a run of the depth of equal length and adds in order, and the first adds the
// sums in order: the result does not depend on timing.
// Per depth: ROWS * 16 multiply-adds for one load of 64 bytes and ROWS scalar loads. Registers:
// ROWS sums and one row of weights, of 16 floats each.
#include "kernels/matmul/matmul_rows.cl"

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void matmul_f32_cl_buffer(MATMUL_PARAMS) {
  START_ROWS(float16)
  const int run = (k + ITEMS - 1) / ITEMS;
  const int begin = min(id * run, k);
  const int end = min(begin + run, k);
  global const float* const w_panel = w + panel * k * 16;
  for (int i = begin; i < end; ++i) {
    const float16 weights = vload16(i, w_panel);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] += (float16)(x_row[r][i]) * weights;
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) partial[r * ITEMS + id] = sum[r];
  barrier(CLK_LOCAL_MEM_FENCE);

  if (id != 0) return;
  const int column = panel * 16;
  for (int r = 0; r < ROWS && first + r < m; ++r) {
    float16 v = partial[r * ITEMS];
    for (int s = 1; s < ITEMS; ++s) v += partial[r * ITEMS + s];
    v += vload16(panel, bias);
    v = ACTIVATE(v, alpha, beta);
    store_lanes(v, y + (first + r) * n + column, min(16, n - column));
  }
}
