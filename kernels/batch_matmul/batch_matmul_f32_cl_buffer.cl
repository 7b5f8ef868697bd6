// Computes y[m, n] = a[m, k] b[k, n] for every product of a batch, Plain buffers.
//
// Define: HAS_ROWS_OF_B, neighbouring columns of b are neighbours in memory. A work-item takes a
// tile of 4 x 8 of y: columns first, then rows, then the batch. Strides are in elements.
//
// Per depth: 32 multiply-adds for 4 scalar loads and one of 32 bytes. Registers: 32 sums, 12
// factors.
#include "kernels/batch_matmul/batch_axes.cl"

#if HAS_ROWS_OF_B
#define LOAD_WHOLE vload8(0, b_k)
#else
#define LOAD_WHOLE                                                                         \
  (float8)(b_k[0], b_k[b_column], b_k[2 * b_column], b_k[3 * b_column], b_k[4 * b_column], \
           b_k[5 * b_column], b_k[6 * b_column], b_k[7 * b_column])
#endif

kernel void batch_matmul_f32_cl_buffer(global const float* restrict a,
                                       global const float* restrict b,
                                       global float* restrict y PARAMS(BatchMatMulBuffer)) {
  if (is_past_grid(column_tiles, row_tiles, batch_count)) return;
  const int column = get_global_id(0) * 8;
  const int row = get_global_id(1) * 4;
  int id = get_global_id(2);
  y += id * m * n + row * n + column;
  STEP_TO_PRODUCT(id)

  // Tiles at the edge read the last row again, and the columns that there are.
  const int rows = min(4, m - row);
  const int columns = min(8, n - column);
  global const float* const a0 = a + row * a_row;
  global const float* const a1 = a + min(row + 1, m - 1) * a_row;
  global const float* const a2 = a + min(row + 2, m - 1) * a_row;
  global const float* const a3 = a + min(row + 3, m - 1) * a_row;
  global const float* b_k = b + column * b_column;
  float8 sums[4] = {(float8)(0.0f), (float8)(0.0f), (float8)(0.0f), (float8)(0.0f)};
  for (int i = 0; i < k; ++i, b_k += b_depth) {
    float8 w;
    if (columns == 8) {
      w = LOAD_WHOLE;
    } else {
      float lanes[8];
      for (int lane = 0; lane < 8; ++lane) lanes[lane] = b_k[min(lane, columns - 1) * b_column];
      w = vload8(0, lanes);
    }
    const int at = i * a_depth;
    sums[0] += a0[at] * w;
    sums[1] += a1[at] * w;
    sums[2] += a2[at] * w;
    sums[3] += a3[at] * w;
  }
  for (int i = 0; i < rows; ++i) {
    if (columns == 8) {
      vstore8(sums[i], 0, y + i * n);
    } else {
      float lanes[8];
      vstore8(sums[i], 0, lanes);
      for (int lane = 0; lane < columns; ++lane) y[i * n + lane] = lanes[lane];
    }
  }
}
