// Copies WIDTH (1 or 4) elements that are neighbours on both sides from `from` to the work-item's
// place in y.
static inline void copy_axes(global const float* from, global float* y) {
  const int id = get_global_id(0);
#if WIDTH == 4
  vstore4(vload4(0, from), id, y);
#else
  y[id] = from[0];
#endif
}
