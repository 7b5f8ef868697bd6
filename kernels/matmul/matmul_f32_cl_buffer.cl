// y = activation(x w + bias) with constant w, for few rows: the fully connected layer at batch 1 is
// as fast as its weights come from memory.
//
//   x     [m, k]            w  [panel][k][16]
//   bias  [round_up(n, 16)]  y  [m, n]
//
// Defines: ROWS (rows of y that share one reading of the weights), SPLIT (work-items of a group),
// ACTIVATION.
// One group computes ROWS rows times one panel. Its work-items take runs of k of equal length, each
// adds in order, and the first adds the SPLIT sums in order: the result does not depend on timing.
kernel __attribute__((reqd_work_group_size(SPLIT, 1, 1))) void matmul_f32_cl_buffer(
    global const float* restrict x, global const float* restrict w,
    global const float* restrict bias, global float* restrict y, int m, int k, int n,
    int first_panel,  // of the part
    float alpha, float beta) {
  local float16 partial[SPLIT * ROWS];
  const int part = get_local_id(0);
  const int panel = first_panel + get_group_id(0);
  const int first = get_group_id(1) * ROWS;

  const int run = (k + SPLIT - 1) / SPLIT;
  const int begin = min(part * run, k);
  const int end = min(begin + run, k);
  float16 sum[ROWS];
  global const float* x_row[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    sum[r] = (float16)(0.0f);
    x_row[r] = x + min(first + r, m - 1) * k;
  }
  global const float* const w_panel = w + panel * k * 16;
  for (int i = begin; i < end; ++i) {
    const float16 weights = vload16(i, w_panel);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] += (float16)(x_row[r][i]) * weights;
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) partial[r * SPLIT + part] = sum[r];
  barrier(CLK_LOCAL_MEM_FENCE);

  if (part != 0) return;
  const int column = panel * 16;
  for (int r = 0; r < ROWS && first + r < m; ++r) {
    float16 v = vload16(panel, bias);
    for (int s = 0; s < SPLIT; ++s) v += partial[r * SPLIT + s];
    v = ACTIVATE(v, alpha, beta);
    store_lanes(v, y + (first + r) * n + column, min(16, n - column));
  }
}
