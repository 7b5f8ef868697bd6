// Copies a part of x, an RGBA image, to y, a Plain or Nhwc buffer. A work-item takes a texel of the
// part. buffer_offset is that of the part's first row.
// Define: TO_PLAIN; else pad lanes are written too, as zero.
kernel void convert_f32_cl_from_image(read_only image2d_t x,
                                      global TYPE_Y* restrict y PARAMS(ConvertImage)) {
  START_TEXEL
  const int valid = channels - texel * 4;
  const float4 v =
      READ_MAP(TYPE_0, x, (int2)(image_x, n * image_rows_held + image_first_row + row));
  global TYPE_Y* const to = y + buffer_offset + n * buffer_batch_stride + row * buffer_row_stride +
                            column * buffer_pixel_stride + texel * 4 * buffer_channel_stride;
#if TO_PLAIN
  STORE_ONE(TYPE_Y, v.x, to, 0);
  if (valid > 1) STORE_ONE(TYPE_Y, v.y, to, buffer_channel_stride);
  if (valid > 2) STORE_ONE(TYPE_Y, v.z, to, 2 * buffer_channel_stride);
  if (valid > 3) STORE_ONE(TYPE_Y, v.w, to, 3 * buffer_channel_stride);
#else
  STORE_QUAD(TYPE_Y, keep_lanes4(v, valid), to);
#endif
}
