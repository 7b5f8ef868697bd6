// Copies what the axes lead to from `x` on to y in order: WIDTH (1 or 4) elements that are
// neighbours on both sides per work-item.
static inline void copy_axes(global const float* x, global float* y, AXES_PARAMS) {
  const int id = get_global_id(0);
  global const float* const from = x + axes_offset(id * WIDTH, AXES_ARGS);
#if WIDTH == 4
  vstore4(vload4(0, from), id, y);
#else
  y[id] = from[0];
#endif
}
