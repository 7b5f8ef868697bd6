// Work-items of kernels that step through their inputs take a piece of 4 elements of a line of y,
// its innermost axis; the last piece of a line may have fewer. So an item divides once for the
// line's pieces and once for each axis around it but the outermost, and not for each element.
// cl_axes.h gives `pieces` of a line, its last_extent and last_step, and AXES axes around it.
#define START_PIECE                                   \
  const uint id = get_global_id(0);                   \
  if (id >= (uint)item_count) return;                 \
  const uint line = id / (uint)pieces;                \
  const int at = (int)(id - line * (uint)pieces) * 4; \
  const int count = min(4, last_extent - at);

// Loads the work-item's piece of input x, which has the steps `step`: step0 or step1; other lanes
// are any of its elements.
#define LOAD_PIECE(type, x, step) \
  PASTE(LOAD_PIECE, STORED(type)) \
  (type, x + axes_offset(line, AXES, AXES_OF(axis, step)) + at * last_##step, last_##step, count)
#define STORE_PIECE(v) STORE_LANES4(TYPE_Y, v, y + line * (uint)last_extent + at, count)

#define LOAD_PIECE_OF(type)                                                              \
  static inline float4 load_piece_of_##type(global const type* p, int step, int count) { \
    if (step == 1 && count == 4) return LOAD_4(type, p);                                 \
    return LOAD_STRIDED4(type, p, 0, count - 1, step);                                   \
  }
LOAD_PIECE_OF(float)
LOAD_PIECE_OF(half)
#define LOAD_PIECE_float(type, p, step, count) load_piece_of_float(p, step, count)
#define LOAD_PIECE_half(type, p, step, count) load_piece_of_half(p, step, count)
#if GRIDS
static inline char4 load_piece_of_bytes(global const char* p, int step, int count) {
  if (step == 1 && count == 4) return vload4(0, p);
  return (char4)(p[0], p[min(1, count - 1) * step], p[min(2, count - 1) * step],
                 p[min(3, count - 1) * step]);
}
#define LOAD_PIECE_byte(type, p, step, count) \
  NUMBERS(type, float4, load_piece_of_bytes(p, step, count))
#endif
