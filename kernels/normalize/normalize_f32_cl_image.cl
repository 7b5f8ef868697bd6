// y = activation((x - mean) / sqrt(variance + epsilon) * scale + bias), mean and variance over the
// rows and columns of each channel of each batch, RGBA images.
//
// Defines: IS_RMS; HAS_SCALE, HAS_BIAS; ACTIVATION; ROWS, work-items of a group;
// AT_ONCE, texels that an item asks for before it waits.
// Group ids are texel of the part's channels, batch. The items of a group take every ROWS-th pixel,
// row by row. Steps of scale and bias are in elements, from batch to batch and from channel to
// channel; 0: one for all. Both end with the last channel, which need not fill a texel.
#define SUM float4
#define ROW_STEP 1
#include "kernels/normalize/normalize_sums.cl"

// Takes the next AT_ONCE pixels of an item: their columns and rows into `at`, their texels into
// `v`. Those behind the last row mean nothing. (It does not divide by the columns, which would take
// longer than the sums.)
#define TAKE_PIXELS                                                                     \
  int2 at[AT_ONCE];                                                                     \
  float4 v[AT_ONCE];                                                                    \
  for (int k = 0; k < AT_ONCE; ++k) {                                                   \
    at[k] = next;                                                                       \
    v[k] = read_imagef(x, kTexel, (int2)(next.x * x_texels + x_at, first_row + next.y)); \
    next += step;                                                                       \
    if (next.x >= columns) next += (int2)(-columns, 1);                                 \
  }

kernel void normalize_f32_cl_image(read_only image2d_t x,
#if HAS_SCALE
                                   global const TYPE_1* restrict scale,
#endif
#if HAS_BIAS
                                   global const TYPE_BIAS* restrict bias,
#endif
                                   write_only image2d_t y PARAMS(NormalizeImage)) {
  local float4 partial[ROWS];
  const int item = get_local_id(0);
  const int texel = first_texel + (int)get_group_id(0);
  const int n = get_group_id(1);
  const int x_at = x_first_texel + texel;
  const int y_at = y_first_texel + texel;
  const int first_row = n * rows;
  const int2 first = (int2)(item % columns, item / columns);
  const int2 step = (int2)(ROWS % columns, ROWS / columns);

  float4 mean = 0.0f;
#if !IS_RMS
  float4 sum = 0.0f;
  for (int2 next = first; next.y < rows;) {
    TAKE_PIXELS
    for (int k = 0; k < AT_ONCE; ++k) sum += at[k].y < rows ? v[k] : (float4)(0.0f);
  }
  mean = sum_of_rows(sum, partial + item, item, ROWS) / element_count;
#endif
  float4 squares = 0.0f;
  for (int2 next = first; next.y < rows;) {
    TAKE_PIXELS
    for (int k = 0; k < AT_ONCE; ++k) {
      const float4 distance = at[k].y < rows ? v[k] - mean : (float4)(0.0f);
      squares += distance * distance;
    }
  }
  const float4 variance = sum_of_rows(squares, partial + item, item, ROWS) / element_count;
  const float4 factor = 1.0f / sqrt(variance + epsilon);
#if HAS_SCALE
  scale += n * scale_batch_step;
  const float4 texel_scale = LOAD_STRIDED4(TYPE_1, scale, texel * 4, channels - 1, scale_step);
#endif
#if HAS_BIAS
  bias += n * bias_batch_step;
  const float4 texel_bias = LOAD_STRIDED4(TYPE_BIAS, bias, texel * 4, channels - 1, bias_step);
#endif
  for (int2 next = first; next.y < rows;) {
    TAKE_PIXELS
    for (int k = 0; k < AT_ONCE; ++k) {
      if (at[k].y >= rows) break;
      float4 result = (v[k] - mean) * factor;
#if HAS_SCALE
      result *= texel_scale;
#endif
#if HAS_BIAS
      result += texel_bias;
#endif
      result = ACTIVATE(result, alpha, beta);
      write_imagef(y, (int2)(at[k].x * y_texels + y_at, first_row + at[k].y),
                   keep_lanes4(result, channels - texel * 4));
    }
  }
}
