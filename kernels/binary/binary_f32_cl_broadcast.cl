// Computes y = activation(a op b) for Plain buffers, a and b broadcast to y in any way.
//
// Defines: KIND, a Binary member; ACTIVATION; AXES. One work-item is one element of y; the
// axes have a's steps and b's.
kernel void binary_f32_cl_broadcast(global const float* restrict a, global const float* restrict b,
                                    global float* restrict y PARAMS(BinaryBroadcast)) {
  const int id = get_global_id(0);
  if (id >= item_count) return;
  const float left = a[axes_offset(id, AXES_OF(axis, step0))];
  const float right = b[axes_offset(id, AXES_OF(axis, step1))];
  const float v = COMBINE(left, right);
  y[id] = ACTIVATE(v, alpha, beta);
}
