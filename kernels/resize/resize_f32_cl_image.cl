// Rows and columns of maps resized, RGBA images.
//
// Defines: IS_NEAREST; ROUNDING, of Nearest: 0 prefers the floor, 1 the ceiling, 2 floor, 3 ceil.
// Ids: texel of the channels, column, batch and row. Positions are fractions of 64-bit integers
// (resize.h, ResizeLine), each number in two halves: so every processor rounds them alike.
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

kernel void resize_f32_cl_image(
    read_only image2d_t x, write_only image2d_t y, int texels, int columns,
    int batch_rows,                                 // outputs in each of the ids
    int first_texel, int rows, int channels,        //
    int y_first_row, int y_rows_held,               //
    int first_row,                                  // of the part, global
    int x_row_begin, int x_rows_held,               //
    int in_h, int in_w, uint step_h_low, int step_h_high, uint start_h_low, int start_h_high,
    uint divisor_h_low, int divisor_h_high, uint step_w_low, int step_w_high, uint start_w_low,
    int start_w_high, uint divisor_w_low, int divisor_w_high) {
  if (is_past_grid(texels, columns, batch_rows)) return;
  const int texel = first_texel + (int)get_global_id(0);
  const int column = (int)get_global_id(1);
  const int n = (int)get_global_id(2) / rows;
  const int row = (int)get_global_id(2) % rows;
  const int pixel_texels = (channels + 3) / 4;
  const long divisor_h = halves(divisor_h_low, divisor_h_high);
  const long divisor_w = halves(divisor_w_low, divisor_w_high);
  const long at_h = (first_row + row) * halves(step_h_low, step_h_high) +
                    halves(start_h_low, start_h_high);
  const long at_w = column * halves(step_w_low, step_w_high) + halves(start_w_low, start_w_high);
  const int image_row0 = n * x_rows_held - x_row_begin;
#if IS_NEAREST
  const int h = image_row0 + nearest_of(at_h, divisor_h, in_h);
  const int w = nearest_of(at_w, divisor_w, in_w) * pixel_texels + texel;
  const float4 result = read_imagef(x, kTexel, (int2)(w, h));
#else
  float bottom_weight;
  float right_weight;
  const int2 h = pair_of(at_h, divisor_h, in_h, &bottom_weight) + image_row0;
  const int2 w = pair_of(at_w, divisor_w, in_w, &right_weight) * pixel_texels + texel;
  const float4 top_left = read_imagef(x, kTexel, (int2)(w.x, h.x));
  const float4 top_right = read_imagef(x, kTexel, (int2)(w.y, h.x));
  const float4 bottom_left = read_imagef(x, kTexel, (int2)(w.x, h.y));
  const float4 bottom_right = read_imagef(x, kTexel, (int2)(w.y, h.y));
  const float4 top = top_left + right_weight * (top_right - top_left);
  const float4 bottom = bottom_left + right_weight * (bottom_right - bottom_left);
  const float4 result = top + bottom_weight * (bottom - top);
#endif
  write_imagef(y, (int2)(column * pixel_texels + texel, n * y_rows_held + y_first_row + row),
               result);
}
