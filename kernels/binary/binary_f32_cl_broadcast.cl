// y = activation(a op b) for Plain buffers, a and b broadcast to y in any way.
//
// Defines: KIND, a Binary member; ACTIVATION; AXES. One work-item is one element of y; extents and
// steps of the axes are a's, t0 ... t7 are b's steps along them.
kernel void binary_f32_cl_broadcast(global const float* restrict a, global const float* restrict b,
                                    global float* restrict y, int item_count, AXES_PARAMS, int t0,
                                    int t1, int t2, int t3, int t4, int t5, int t6, int t7,
                                    float alpha, float beta) {
  const int id = get_global_id(0);
  if (id >= item_count) return;
  const float left = a[axes_offset(id, AXES_ARGS)];
  const float right =
      b[axes_offset(id, e0, t0, e1, t1, e2, t2, e3, t3, e4, t4, e5, t5, e6, t6, e7, t7)];
  const float v = COMBINE(left, right);
  y[id] = ACTIVATE(v, alpha, beta);
}
