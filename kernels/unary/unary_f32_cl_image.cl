// y = f(x) element by element, for RGBA images; f is ACTIVATION (define). One work-item per texel
// of the part: ids are texel of the channels, column, batch and row.
kernel void unary_f32_cl_image(read_only image2d_t x, write_only image2d_t y,  //
                               int texels, int columns, int batch_rows,        // extents of the ids
                               int first_texel, int rows, int channels,        //
                               int x_first_row, int x_rows_held,               //
                               int y_first_row, int y_rows_held,               //
                               float alpha, float beta) {
  if (is_past_grid(texels, columns, batch_rows)) return;
  const int texel = first_texel + (int)get_global_id(0);
  const int image_x = (int)get_global_id(1) * ((channels + 3) / 4) + texel;
  const int n = (int)get_global_id(2) / rows;
  const int row = (int)get_global_id(2) % rows;
  const float4 v = read_imagef(x, kTexel, (int2)(image_x, n * x_rows_held + x_first_row + row));
  write_imagef(y, (int2)(image_x, n * y_rows_held + y_first_row + row),
               keep_lanes4(ACTIVATE(v, alpha, beta), channels - texel * 4));
}
