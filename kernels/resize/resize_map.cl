// Finds where an output of Resize lies in its input: ResizeLine of resize.h. Positions are
// integers, so that every processor finds the same elements; arguments of 64 bits come in two
// halves.
//
// Defines: IS_NEAREST; ROUNDING_H, ROUNDING_W, of Nearest: 0 prefers the floor, 1 the ceiling,
// 2 floor, 3 ceil; IS_ROUNDED: some position is rounded to f32; IS_SHORT: no number needs more than
// 32 bits, and none is rounded. (A GPU divides 64 bits in hundreds of instructions.)
#if IS_SHORT
typedef int Number;
#define halves(low, high) (low)
#else
typedef long Number;
static inline long halves(uint low, int high) { return ((long)high << 32) | low; }
#endif

#define POSITION(axis, at)                               \
  position_of((at)*halves(axis##_step_low, axis##_step_high) + \
                  halves(axis##_start_low, axis##_start_high), \
              halves(axis##_divisor_low, axis##_divisor_high), axis##_fraction, axis##_form)
// Finds the position of row first_row + row and of the column.
#define START_MAP                                             \
  const Position at_h = POSITION(h, (Number)first_row + row); \
  const Position at_w = POSITION(w, (Number)column);

// Declares the result of Linear; the corners are vectors of type V.
#define MIX_CORNERS(V)                                                        \
  const V top = top_left + right_weight * (top_right - top_left);             \
  const V bottom = bottom_left + right_weight * (bottom_right - bottom_left); \
  const V result = top + bottom_weight * (bottom - top);

typedef struct {
  Number floor;
  Number rest;  // [0, divisor)
  Number divisor;
} Position;

// Returns floor(numerator / divisor).
static inline Number floor_of(Number numerator, Number divisor) {
  return (numerator - (numerator < 0 ? divisor - 1 : 0)) / divisor;
}

static inline Position parts_of(Number numerator, Number divisor) {
  Position position;
  position.floor = floor_of(numerator, divisor);
  position.rest = numerator - position.floor * divisor;
  position.divisor = divisor;
  return position;
}

// Works as resize_position() of resize.h explains. form: 1 if rounded, 2 more if 1 / 2 less.
static inline Position position_of(Number numerator, Number divisor, int fraction, int form) {
  const Position position = parts_of(numerator, divisor);
#if IS_ROUNDED
  if (form == 0) return position;
  long floor = position.floor;
  long rest = (position.rest << 25) + fraction * divisor;
  if (rest >= divisor << 25) {
    rest -= divisor << 25;
    ++floor;
  }
  int digits = 2 * rest >= divisor << 25 ? 24 : 25;
  if (floor != 0) digits = 24 - (64 - (int)clz(abs(floor)));
  const long unit = divisor << (25 - digits);
  long rounded = rest / unit;
  const long left = rest - rounded * unit;
  if (2 * left > unit || (2 * left == unit && (rounded & 1) != 0)) ++rounded;
  if (floor == 0 && rounded == 0 && left != 0) rounded = 1;
  rounded += floor * (1L << digits);
  if (form > 1) rounded -= 1L << (digits - 1);
  Position result = parts_of(rounded, 1L << digits);
  const long away = 2 * result.rest - result.divisor;
  if ((long)abs(away) << 24 <= 33 * result.divisor) result.rest = result.divisor / 2;
  return result;
#else
  return position;
#endif
}

// Returns the element that Nearest takes of an axis.
static inline int nearest_of(Position at, int extent, int rounding) {
  Number index = at.floor;
  if (rounding == 0 && 2 * at.rest > at.divisor) ++index;
  if (rounding == 1 && 2 * at.rest >= at.divisor) ++index;
  if (rounding == 3 && at.rest > 0) ++index;
  return (int)clamp(index, (Number)0, (Number)extent - 1);
}

// Returns the two elements that Linear weighs, and the weight of the second.
static inline int2 pair_of(Position at, int extent, float* weight) {
  const Number last = (Number)extent - 1;
  *weight = (float)at.rest / (float)at.divisor;
  return (int2)((int)clamp(at.floor, (Number)0, last),
                (int)clamp(at.rest > 0 ? at.floor + 1 : at.floor, (Number)0, last));
}
