// Copies a part of x, an RGBA image, to y, a Plain or Nhwc buffer. One work-item per texel of the
// part: ids are texel of the channels, column, batch and row. y_offset: of the part's first row.
// Define: TO_PLAIN; else pad lanes are written too, as zero.
kernel void convert_f32_cl_from_image(read_only image2d_t x, global float* restrict y,  //
                                      int texels, int columns,
                                      int batch_rows,  // extents of the ids
                                      int first_texel, int rows, int channels,  //
                                      int x_first_row, int x_rows_held,         //
                                      int y_offset, int y_batch_stride, int y_row_stride,
                                      int y_pixel_stride, int y_channel_stride) {
  if (is_past_grid(texels, columns, batch_rows)) return;
  const int texel = first_texel + (int)get_global_id(0);
  const int column = (int)get_global_id(1);
  const int n = (int)get_global_id(2) / rows;
  const int row = (int)get_global_id(2) % rows;
  const int valid = channels - texel * 4;
  const float4 v = read_imagef(
      x, kTexel,
      (int2)(column * ((channels + 3) / 4) + texel, n * x_rows_held + x_first_row + row));
  global float* const to = y + y_offset + n * y_batch_stride + row * y_row_stride +
                           column * y_pixel_stride + texel * 4 * y_channel_stride;
#if TO_PLAIN
  to[0] = v.x;
  if (valid > 1) to[y_channel_stride] = v.y;
  if (valid > 2) to[2 * y_channel_stride] = v.z;
  if (valid > 3) to[3 * y_channel_stride] = v.w;
#else
  vstore4(keep_lanes4(v, valid), 0, to);
#endif
}
