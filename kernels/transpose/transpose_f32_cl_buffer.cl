// The axes of x in another order.
//
// With SIDE: a work-group turns a square of SIDE x SIDE elements in local memory, so that
// neighbours in x are read, and neighbours in y written, by neighbouring work-items. Ids are
// column, row and the index along the other axes; t0 ... t7 are y's steps along those.
//
// Else: elements in y's order; first is 0.
#ifdef SIDE
kernel void transpose_f32_cl_buffer(global const float* restrict x, global float* restrict y,
                                    int rows, int columns, int x_column_step, int y_row_step,
                                    AXES_PARAMS, int t0, int t1, int t2, int t3, int t4, int t5,
                                    int t6, int t7) {
  local float square[SIDE][SIDE + 1];  // one more: a column is not in one bank of the memory
  const int other = get_global_id(2);
  const int first_row = (int)get_group_id(1) * SIDE;
  const int first_column = (int)get_group_id(0) * SIDE;
  const int near = get_local_id(0);
  const int far = get_local_id(1);
  x += axes_offset(other, AXES_ARGS);
  y += axes_offset(other, e0, t0, e1, t1, e2, t2, e3, t3, e4, t4, e5, t5, e6, t6, e7, t7);
  if (first_row + near < rows && first_column + far < columns)
    square[far][near] = x[first_row + near + (first_column + far) * x_column_step];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (first_row + far < rows && first_column + near < columns)
    y[(first_row + far) * y_row_step + first_column + near] = square[near][far];
}
#else
#include "kernels/common/launch/copy_axes.cl"
kernel void transpose_f32_cl_buffer(global const float* restrict x, global float* restrict y,
                                    int item_count, int first, AXES_PARAMS) {
  if ((int)get_global_id(0) < item_count) copy_axes(x + first, y, AXES_ARGS);
}
#endif
