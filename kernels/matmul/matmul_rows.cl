// The head of the rows for few rows of x. y = activation(x w + bias) with constant w:
//
//   x     [m, k]             w  [panel][k][16]
//   bias  [round_up(n, 16)]  y  [m, n]
//
// A group computes ROWS rows times one panel; its ITEMS work-items share the depth, and the sums of
// each, of `lanes` lanes, wait in `partial` until all are there. A step of an item's loop adds
// `products` products to each.
//
// Defines: ROWS (rows of y that share one reading of the weights), ITEMS, ACTIVATION; those of
// matmul_weights.cl.
#include "kernels/matmul/matmul_weights.cl"

#define MATMUL_PARAMS                                                    \
  global const TYPE_0 *restrict x, global const WEIGHT_TYPE *restrict w, \
      global const float *restrict bias, global TYPE_Y *restrict y PARAMS(MatMulPanels)

#define START_ROWS(lanes, products)                     \
  local OF_LANES(float, lanes) partial[ROWS * ITEMS];   \
  const int id = get_local_id(0);                       \
  const int panel = first_panel + (int)get_group_id(0); \
  const int first = (int)get_group_id(1) * ROWS;        \
  SUMS(lanes, sum, ROWS, products)                      \
  global const TYPE_0 *x_row[ROWS];                     \
  _Pragma("unroll") for (int r = 0; r < ROWS; ++r) x_row[r] = x + min(first + r, m - 1) * k;
#define END_ROWS(lanes) \
  _Pragma("unroll") for (int r = 0; r < ROWS; ++r) partial[r * ITEMS + id] = TOTAL(lanes, sum, r);
