// Joins inputs along the channels, RGBA images. Define: INPUTS, 1 to 8, that are copied.
//
// A work-item takes a texel of y from the first that is copied to the last: ids are texel of the
// channels, column, batch and row. An input whose first channel is no multiple of 4 gives lanes
// from two neighbouring texels. Lanes an input does not fill are zero bits (its pad lanes, or none
// of its texels), so the inputs are joined by `or`. Texels without an input are of windows of y.
// Each input has its first channel in y, channels, image row of the part's first row, rows held.
#define INPUT(i) read_only image2d_t x##i,
#define SCALARS(i) PARAM_GROUP(ConcatImageInput, x##i)
#define READ(i, t)            \
  MAP_OR_ZERO(TYPE_##i, x##i, \
              (int2)((t) >= 0 && (t) < in_texels ? column * in_texels + (t) : OUTSIDE, image_y))
#define JOIN(i)                                                                     \
  if (texel * 4 + 4 > x##i##_first && texel * 4 < x##i##_first + x##i##_channels) { \
    const int in_texels = (x##i##_channels + 3) / 4;                                \
    const int image_y = n * x##i##_rows_held + x##i##_first_row + row;              \
    const int lane = texel * 4 - x##i##_first;                                      \
    const int t = lane >> 2; /* rounds down */                                      \
    bits |= as_uint4(shift_lanes(READ(i, t), READ(i, t + 1), lane & 3));            \
    is_copied = true;                                                               \
  }

// Returns lanes shift .. shift + 3 of the eight lanes a, b.
static inline float4 shift_lanes(float4 a, float4 b, int shift) {
  if (shift & 1) {
    a = (float4)(a.yzw, b.x);
    b.xyz = b.yzw;
  }
  if (shift & 2) a = (float4)(a.zw, b.xy);
  return a;
}

kernel void concat_f32_cl_image(EACH_INPUT(INPUT) write_only image2d_t y PARAMS(ConcatImage)
                                    EACH_INPUT(SCALARS)) {
  if (is_past_grid(texels, columns, batch_rows)) return;
  const int texel = first_texel + (int)get_global_id(0);
  const int column = (int)get_global_id(1);
  const int n = BATCH_OF(get_global_id(2));
  const int row = ROW_OF(get_global_id(2));
  uint4 bits = (uint4)(0);
  bool is_copied = false;
  EACH_INPUT(JOIN)
  if (is_copied) WRITE_MAP(TYPE_Y, y, TEXEL_OF(y), as_float4(bits));
}
