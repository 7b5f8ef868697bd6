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
#define LOAD_PIECE(type, x, step) \
  PASTE(load_piece, type)         \
  (x + axes_offset(line, AXES, AXES_OF(axis, step)) + at * last_##step, last_##step, count)
#define STORE_PIECE(v) STORE_LANES4(TYPE_Y, v, y + line * (uint)last_extent + at, count)

#define LOAD_PIECE_OF(type)                                                           \
  static inline float4 load_piece_##type(global const type* p, int step, int count) { \
    if (step == 1 && count == 4) return LOAD_4_##type(p);                             \
    return LOAD_STRIDED4(type, p, 0, count - 1, step);                                \
  }
LOAD_PIECE_OF(float)
LOAD_PIECE_OF(half)
