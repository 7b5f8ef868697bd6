// Copies a part of x, a Plain or Nhwc buffer, to y, an RGBA image. One work-item per texel of the
// part. x_offset: of the part's first row.
kernel void convert_f32_cl_to_image(global const TYPE_0* restrict x, write_only image2d_t y,  //
                                    TEXEL_PARAMS,                                            //
                                    int y_first_row, int y_rows_held,                        //
                                    int x_offset, int x_batch_stride, int x_row_stride,
                                    int x_pixel_stride, int x_channel_stride) {
  START_TEXEL
  const int valid = channels - texel * 4;
  global const TYPE_0* const from = x + x_offset + n * x_batch_stride + row * x_row_stride +
                                   column * x_pixel_stride + texel * 4 * x_channel_stride;
  float4 v = (float4)(0.0f);
  v.x = LOAD_ONE(TYPE_0, from, 0);
  if (valid > 1) v.y = LOAD_ONE(TYPE_0, from, x_channel_stride);
  if (valid > 2) v.z = LOAD_ONE(TYPE_0, from, 2 * x_channel_stride);
  if (valid > 3) v.w = LOAD_ONE(TYPE_0, from, 3 * x_channel_stride);
  write_imagef(y, (int2)(image_x, n * y_rows_held + y_first_row + row), v);
}
