// Copies a part of x, an RGBA image, to y, a Plain or Nhwc buffer. One work-item per texel of the
// part. y_offset: of the part's first row.
// Define: TO_PLAIN; else pad lanes are written too, as zero.
kernel void convert_f32_cl_from_image(read_only image2d_t x, global TYPE_Y* restrict y,  //
                                      TEXEL_PARAMS,                                     //
                                      int x_first_row, int x_rows_held,                 //
                                      int y_offset, int y_batch_stride, int y_row_stride,
                                      int y_pixel_stride, int y_channel_stride) {
  START_TEXEL
  const int valid = channels - texel * 4;
  const float4 v = read_imagef(x, kTexel, (int2)(image_x, n * x_rows_held + x_first_row + row));
  global TYPE_Y* const to = y + y_offset + n * y_batch_stride + row * y_row_stride +
                           column * y_pixel_stride + texel * 4 * y_channel_stride;
#if TO_PLAIN
  STORE_ONE(TYPE_Y, v.x, to, 0);
  if (valid > 1) STORE_ONE(TYPE_Y, v.y, to, y_channel_stride);
  if (valid > 2) STORE_ONE(TYPE_Y, v.z, to, 2 * y_channel_stride);
  if (valid > 3) STORE_ONE(TYPE_Y, v.w, to, 3 * y_channel_stride);
#else
  STORE_QUAD(TYPE_Y, keep_lanes4(v, valid), to);
#endif
}
