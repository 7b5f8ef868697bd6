// y = activation(x w + bias) with constant w and few rows, for GPUs: as fast as the weights come
// from memory.
//
//   x  [m, k]    w  [panel][k][16]    bias  [round_up(n, 16)]    y  [m, n]
//   w and bias at a multiple of 16 bytes
//
// Defines: ROWS (of y that share one reading of the weights), ITEMS (of a group, a power of two, at
// least 8), ACTIVATION.
// A group computes ROWS rows times one panel. Work-item 4 i + q takes lanes 4 q to 4 q + 3 of
// depths i, i + ITEMS / 4, ...: neighbours read neighbouring 16 bytes. Their sums are added in
// pairs.
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void matmul_f32_cl_gemv(
    global const float* restrict x, global const float* restrict w,
    global const float* restrict bias, global float* restrict y, int m, int k, int n,
    int first_panel,  // of the part
    float alpha, float beta) {
  local float4 partial[ROWS * ITEMS];
  const int id = get_local_id(0);
  const int panel = first_panel + (int)get_group_id(0);
  const int first = (int)get_group_id(1) * ROWS;
  float4 sum[ROWS];
  global const float* x_row[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    sum[r] = (float4)(0.0f);
    x_row[r] = x + min(first + r, m - 1) * k;
  }
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
    global float* const to = y + (first + r) * n + column;
    to[0] = v.x;
    if (column + 1 < n) to[1] = v.y;
    if (column + 2 < n) to[2] = v.z;
    if (column + 3 < n) to[3] = v.w;
  }
}
