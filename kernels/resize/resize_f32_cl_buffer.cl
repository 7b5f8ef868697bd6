// Rows and columns of maps resized, Nhwc buffers.
//
// Defines: IS_NEAREST; ROUNDING, of Nearest: 0 prefers the floor, 1 the ceiling, 2 floor, 3 ceil.
// One work-item is one output pixel times 16 channels; channels first, then columns, rows, batch.
// Positions are fractions of 64-bit integers (resize.h, ResizeLine), each number in two halves: so
// every processor rounds them alike.
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

kernel void resize_f32_cl_buffer(
    global const float* restrict x, global float* restrict y, int item_count, int chunks,
    int first_channel, int rows, int first_row, int out_w,          // the part
    int in_h, int in_w, uint step_h_low, int step_h_high, uint start_h_low, int start_h_high,
    uint divisor_h_low, int divisor_h_high, uint step_w_low, int step_w_high, uint start_w_low,
    int start_w_high, uint divisor_w_low, int divisor_w_high,       //
    int x_row_begin, int x_batch_stride, int x_row_stride,          //
    int pixel_stride,                                               // of x and of y
    int y_offset, int y_batch_stride, int y_row_stride) {           // of first_row
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int channel = first_channel + id % chunks * 16;
  id /= chunks;
  const int column = id % out_w;
  id /= out_w;
  const int row = id % rows;
  const int n = id / rows;
  const int lanes = min(16, pixel_stride - channel);
  const long divisor_h = halves(divisor_h_low, divisor_h_high);
  const long divisor_w = halves(divisor_w_low, divisor_w_high);
  const long at_h = (first_row + row) * halves(step_h_low, step_h_high) +
                    halves(start_h_low, start_h_high);
  const long at_w = column * halves(step_w_low, step_w_high) + halves(start_w_low, start_w_high);

  global const float* const x_map = x + n * x_batch_stride + channel;
#if IS_NEAREST
  const int h = nearest_of(at_h, divisor_h, in_h) - x_row_begin;
  const int w = nearest_of(at_w, divisor_w, in_w);
  const float16 result = load_lanes(x_map + h * x_row_stride + w * pixel_stride, lanes);
#else
  float bottom_weight;
  float right_weight;
  const int2 h = (pair_of(at_h, divisor_h, in_h, &bottom_weight) - x_row_begin) * x_row_stride;
  const int2 w = pair_of(at_w, divisor_w, in_w, &right_weight) * pixel_stride;
  const float16 top_left = load_lanes(x_map + h.x + w.x, lanes);
  const float16 top_right = load_lanes(x_map + h.x + w.y, lanes);
  const float16 bottom_left = load_lanes(x_map + h.y + w.x, lanes);
  const float16 bottom_right = load_lanes(x_map + h.y + w.y, lanes);
  const float16 top = top_left + right_weight * (top_right - top_left);
  const float16 bottom = bottom_left + right_weight * (bottom_right - bottom_left);
  const float16 result = top + bottom_weight * (bottom - top);
#endif
  store_lanes(
      result,
      y + y_offset + n * y_batch_stride + row * y_row_stride + column * pixel_stride + channel,
      lanes);
}
