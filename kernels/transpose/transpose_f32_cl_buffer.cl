// Puts the axes of x in another order.
//
// With SIDE: a work-group turns a square of SIDE x SIDE elements in local memory, so that
// neighbours in x are read, and neighbours in y written, by neighbouring work-items. Ids are
// column, row and the index along the other axes, which have x's steps and y's.
//
// Else: pieces in y's order; first is 0.
#ifdef SIDE
kernel void transpose_f32_cl_buffer(global const TYPE_0* restrict x,
                                    global TYPE_Y* restrict y PARAMS(TransposeSquares)) {
  local float square[SIDE][SIDE + 1];  // one more: a column is not in one bank of the memory
  const int other = get_global_id(2);
  const int first_row = (int)get_group_id(1) * SIDE;
  const int first_column = (int)get_group_id(0) * SIDE;
  const int near = get_local_id(0);
  const int far = get_local_id(1);
  x += axes_offset(other, AXES, AXES_OF(axis, step0));
  y += axes_offset(other, AXES, AXES_OF(axis, step1));
  if (first_row + near < rows && first_column + far < columns)
    square[far][near] =
        LOAD_ONE(TYPE_0, x, first_row + near + (first_column + far) * x_column_step);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (first_row + far < rows && first_column + near < columns)
    STORE_ONE(TYPE_Y, square[near][far], y,
              (first_row + far) * y_row_step + first_column + near);
}
#else
#include "kernels/common/launch/axes_pieces.cl"

kernel void transpose_f32_cl_buffer(global const TYPE_0* restrict x,
                                    global TYPE_Y* restrict y PARAMS(CopyAxes)) {
  START_PIECE
  x += first;
  STORE_PIECE(LOAD_PIECE(TYPE_0, x, step0));
}
#endif
