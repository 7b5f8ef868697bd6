// Copies elements of x, `first` and those that the axes lead to, to y in order.
#include "kernels/common/launch/axes_pieces.cl"

kernel void slice_f32_cl_buffer(global const TYPE_0* restrict x,
                                global TYPE_Y* restrict y PARAMS(CopyAxes)) {
  START_PIECE
  x += first;
  STORE_PIECE(LOAD_PIECE(TYPE_0, x, step0));
}
