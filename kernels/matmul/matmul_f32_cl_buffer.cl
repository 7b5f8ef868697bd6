// y = activation(x w + bias) with constant w, for few rows, where OpenCL runs on a processor: the
// fully connected layer at batch 1 is as fast as its weights come from memory.
//
// Each work-item takes a share of the depth of equal length and adds in order, and the first adds
// the sums in order: the result does not depend on timing.
// Per depth: ROWS * 16 multiply-adds for one load of 64 bytes and ROWS scalar loads. Registers:
// ROWS sums and one row of weights, of 16 floats each.
#include "kernels/matmul/matmul_rows.cl"

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void matmul_f32_cl_buffer(MATMUL_PARAMS) {
  START_ROWS(16, 1)
  const int share = (k + ITEMS - 1) / ITEMS;
  int i = min(id * share, k);
  global const WEIGHT_TYPE* const w_panel = PANEL_OF(w, panel, k);
  EACH_RUN(min(share, k - i), run) {
    for (const int end = i + run; i < end; ++i) {
      const ACC16 weights = WEIGHTS_16(w_panel, i);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) sum[r] += (ACC16)(FACTOR(TYPE_0, x_row[r], i)) * weights;
    }
    END_RUN(16, sum, ROWS, 1, run)
  }
  END_ROWS(16)
  barrier(CLK_LOCAL_MEM_FENCE);

  if (id != 0) return;
  const int column = panel * 16;
  for (int r = 0; r < ROWS && first + r < m; ++r) {
    float16 v = partial[r * ITEMS];
    for (int s = 1; s < ITEMS; ++s) v += partial[r * ITEMS + s];
    v += vload16(panel, bias);
    v = ACTIVATE(v, alpha, beta);
    STORE_LANES(TYPE_Y, v, y + (first + r) * n + column, min(16, n - column));
  }
}
