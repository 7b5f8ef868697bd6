// Work-items of kernels that step through their inputs take a piece of 4 elements of a line of y,
// its innermost axis; the last piece of a line may have fewer. So an item divides once for the
// line's pieces and once for each axis around it but the outermost, and not for each element.
// cl_axes.h gives `pieces` of a line, its last_extent and last_step, and AXES axes around it.
#define START_PIECE                                         \
  const uint id = get_global_id(0);                         \
  if (id >= (uint)item_count) return;                       \
  const uint line = id / (uint)pieces;                      \
  const int at = (int)(id - line * (uint)pieces) * 4;       \
  const int count = min(4, last_extent - at);

// Loads the work-item's piece of input x, which has the steps `step`: step0 or step1; other lanes
// are any of its elements.
#define LOAD_PIECE(x, step)                                                                \
  load_piece(x + axes_offset(line, AXES, AXES_OF(axis, step)) + at * last_##step, last_##step, \
             count)
#define STORE_PIECE(v) store_piece(v, y + line * (uint)last_extent + at, count)

static inline float4 load_piece(global const float* p, int step, int count) {
  if (step == 1 && count == 4) return vload4(0, p);
  const int last = count - 1;
  return (float4)(p[0], p[min(1, last) * step], p[min(2, last) * step], p[last * step]);
}

static inline void store_piece(float4 v, global float* p, int count) {
  if (count == 4)
    vstore4(v, 0, p);
  else
    store_lanes4(v, p, count);
}
