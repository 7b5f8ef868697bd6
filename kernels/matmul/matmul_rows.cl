// The head of the rows for few rows of x. y = activation(x w + bias) with constant w:
//
//   x     [m, k]             w  [panel][k][16]
//   bias  [round_up(n, 16)]  y  [m, n]
//
// A group computes ROWS rows times one panel; its ITEMS work-items share the depth, and the sums of
// each wait in `partial` until all are there. SUM is the type of a sum.
//
// Defines: ROWS (rows of y that share one reading of the weights), ITEMS, ACTIVATION.
#define MATMUL_PARAMS                                             \
  global const float *restrict x, global const float *restrict w, \
      global const float *restrict bias, global float *restrict y PARAMS(MatMulPanels)

#define START_ROWS(SUM)                                 \
  local SUM partial[ROWS * ITEMS];                      \
  const int id = get_local_id(0);                       \
  const int panel = first_panel + (int)get_group_id(0); \
  const int first = (int)get_group_id(1) * ROWS;        \
  SUM sum[ROWS];                                        \
  global const float *x_row[ROWS];                      \
  _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {    \
    sum[r] = (SUM)(0.0f);                               \
    x_row[r] = x + min(first + r, m - 1) * k;           \
  }
