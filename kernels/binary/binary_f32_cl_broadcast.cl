// Computes y = activation(a op b) for Plain buffers, a and b broadcast to y in any way.
//
// Defines: KIND, a Binary member; ACTIVATION; AXES. One work-item is a piece of y; the axes have
// a's steps and b's.
#include "kernels/common/launch/axes_pieces.cl"

kernel void binary_f32_cl_broadcast(global const TYPE_0* restrict a,
                                    global const TYPE_1* restrict b,
                                    global TYPE_Y* restrict y PARAMS(BinaryBroadcast)) {
  START_PIECE
  const float4 left = LOAD_PIECE(TYPE_0, a, step0);
  const float4 right = LOAD_PIECE(TYPE_1, b, step1);
  const float4 v = COMBINE(left, right);
  STORE_PIECE(ACTIVATE(v, alpha, beta));
}
