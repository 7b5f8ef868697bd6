// Copies a part of x, a Plain or Nhwc buffer, to y, an RGBA image. A work-item takes a texel of the
// part. buffer_offset is that of the part's first row.
kernel void convert_f32_cl_to_image(global const TYPE_0* restrict x,
                                    write_only image2d_t y PARAMS(ConvertImage)) {
  START_TEXEL
  const int valid = channels - texel * 4;
  global const TYPE_0* const from = x + buffer_offset + n * buffer_batch_stride + row * buffer_row_stride +
                                   column * buffer_pixel_stride + texel * 4 * buffer_channel_stride;
  float4 v = (float4)(0.0f);
  v.x = LOAD_ONE(TYPE_0, from, 0);
  if (valid > 1) v.y = LOAD_ONE(TYPE_0, from, buffer_channel_stride);
  if (valid > 2) v.z = LOAD_ONE(TYPE_0, from, 2 * buffer_channel_stride);
  if (valid > 3) v.w = LOAD_ONE(TYPE_0, from, 3 * buffer_channel_stride);
  write_imagef(y, (int2)(image_x, n * image_rows_held + image_first_row + row), v);
}
