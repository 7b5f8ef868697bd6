// Copies elements of x, `first` and those that the axes lead to, to y in order: WIDTH (1 or 4) that
// are neighbours on both sides per work-item.
kernel void slice_f32_cl_buffer(global const float* restrict x, global float* restrict y,
                                int item_count, int first, AXES_PARAMS) {
  const int id = get_global_id(0);
  if (id >= item_count) return;
  global const float* const from =
      x + first +
      axes_offset(id * WIDTH, e0, s0, e1, s1, e2, s2, e3, s3, e4, s4, e5, s5, e6, s6, e7, s7);
#if WIDTH == 4
  vstore4(vload4(0, from), id, y);
#else
  y[id] = from[0];
#endif
}
