// Copies a part of x to y, an RGBA image. A work-item takes a texel of the part.
//
// Define: FROM_IMAGE if x is an image: it holds buffer_batch_stride rows, of which buffer_offset is
// the part's first. Else x is a Plain or Nhwc buffer, and buffer_offset is that of that row.
#ifdef FROM_IMAGE
kernel void convert_f32_cl_to_image(read_only image2d_t x,
                                    write_only image2d_t y PARAMS(ConvertImage)) {
  START_TEXEL
  const float4 v =
      READ_MAP(TYPE_0, x, (int2)(image_x, n * buffer_batch_stride + buffer_offset + row));
#else
kernel void convert_f32_cl_to_image(global const TYPE_0* restrict x,
                                    write_only image2d_t y PARAMS(ConvertImage)) {
  START_TEXEL
  const int valid = channels - texel * 4;
  global const TYPE_0* const from = x + buffer_offset + n * buffer_batch_stride +
                                    row * buffer_row_stride + column * buffer_pixel_stride +
                                    texel * 4 * buffer_channel_stride;
  float4 v = (float4)(0.0f);
  v.x = LOAD_ONE(TYPE_0, from, 0);
  if (valid > 1) v.y = LOAD_ONE(TYPE_0, from, buffer_channel_stride);
  if (valid > 2) v.z = LOAD_ONE(TYPE_0, from, 2 * buffer_channel_stride);
  if (valid > 3) v.w = LOAD_ONE(TYPE_0, from, 3 * buffer_channel_stride);
#endif
  WRITE_MAP(TYPE_Y, y, (int2)(image_x, n * image_rows_held + image_first_row + row), v);
}
