// Where an output of Resize lies in its input. Positions are fractions of 64-bit integers
// (resize.h, ResizeLine), each number in two halves: so every processor rounds them alike.
//
// Defines: IS_NEAREST; ROUNDING, of Nearest: 0 prefers the floor, 1 the ceiling, 2 floor, 3 ceil.
#define MAP_PARAMS                                                                                \
  int in_h, int in_w, uint step_h_low, int step_h_high, uint start_h_low, int start_h_high,       \
      uint divisor_h_low, int divisor_h_high, uint step_w_low, int step_w_high, uint start_w_low, \
      int start_w_high, uint divisor_w_low, int divisor_w_high

// The position of row first_row + row and of the column.
#define START_MAP                                                                              \
  const long divisor_h = halves(divisor_h_low, divisor_h_high);                                \
  const long divisor_w = halves(divisor_w_low, divisor_w_high);                                \
  const long at_h =                                                                            \
      (first_row + row) * halves(step_h_low, step_h_high) + halves(start_h_low, start_h_high); \
  const long at_w = column * halves(step_w_low, step_w_high) + halves(start_w_low, start_w_high);

// Declares the result of Linear; the corners are vectors of type V.
#define MIX_CORNERS(V)                                                        \
  const V top = top_left + right_weight * (top_right - top_left);             \
  const V bottom = bottom_left + right_weight * (bottom_right - bottom_left); \
  const V result = top + bottom_weight * (bottom - top);

static inline long halves(uint low, int high) { return ((long)high << 32) | low; }

// floor(numerator / divisor).
static inline long floor_of(long numerator, long divisor) {
  return numerator >= 0 ? numerator / divisor : -((divisor - 1 - numerator) / divisor);
}

// The element that Nearest takes of an axis.
static inline int nearest_of(long numerator, long divisor, int extent) {
  long index = floor_of(numerator, divisor);
  const long rest = numerator - index * divisor;
#if ROUNDING == 0
  if (2 * rest > divisor) ++index;
#elif ROUNDING == 1
  if (2 * rest >= divisor) ++index;
#elif ROUNDING == 3
  if (rest > 0) ++index;
#endif
  return (int)clamp(index, (long)0, (long)extent - 1);
}

// The two elements that Linear weighs, and the weight of the second.
static inline int2 pair_of(long numerator, long divisor, int extent, float* weight) {
  const long first = floor_of(numerator, divisor);
  const long rest = numerator - first * divisor;
  const long last = (long)extent - 1;
  *weight = (float)rest / (float)divisor;
  return (int2)((int)clamp(first, (long)0, last),
                (int)clamp(rest > 0 ? first + 1 : first, (long)0, last));
}
