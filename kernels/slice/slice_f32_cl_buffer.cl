// Copies elements of x, `first` and those that the axes lead to, to y in order.
#include "kernels/common/launch/axes_pieces.cl"

kernel void slice_f32_cl_buffer(global const float* restrict x,
                                global float* restrict y PARAMS(CopyAxes)) {
  START_PIECE
  x += first;
  STORE_PIECE(LOAD_PIECE(x, step0));
}
