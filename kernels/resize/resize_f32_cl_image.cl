// Resizes maps along rows and columns, RGBA images.
// A work-item takes a texel of the part.
#include "kernels/resize/resize_map.cl"

kernel void resize_f32_cl_image(read_only image2d_t x, write_only image2d_t y PARAMS(ResizeImage)) {
  START_TEXEL
  START_MAP
  const int image_row0 = n * x_rows_held - x_row_begin;
#if IS_NEAREST
  const int h = image_row0 + nearest_of(at_h, in_h, ROUNDING_H);
  const int w = nearest_of(at_w, in_w, ROUNDING_W) * x_texels + x_first_texel + texel;
  const float4 result = READ_MAP(TYPE_0, x, (int2)(w, h));
#else
  float bottom_weight;
  float right_weight;
  const int2 h = pair_of(at_h, in_h, &bottom_weight) + image_row0;
  const int2 w = pair_of(at_w, in_w, &right_weight) * x_texels + x_first_texel + texel;
  const float4 top_left = READ_MAP(TYPE_0, x, (int2)(w.x, h.x));
  const float4 top_right = READ_MAP(TYPE_0, x, (int2)(w.y, h.x));
  const float4 bottom_left = READ_MAP(TYPE_0, x, (int2)(w.x, h.y));
  const float4 bottom_right = READ_MAP(TYPE_0, x, (int2)(w.y, h.y));
  MIX_CORNERS(float4)
#endif
  WRITE_MAP(TYPE_Y, y, TEXEL_OF(y), result);
}
