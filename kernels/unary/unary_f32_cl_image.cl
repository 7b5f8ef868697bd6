// y = f(x) element by element, for RGBA images; f is ACTIVATION (define). One work-item per texel
// of the part.
kernel void unary_f32_cl_image(read_only image2d_t x, write_only image2d_t y,  //
                               TEXEL_PARAMS,                                   //
                               int x_first_row, int x_rows_held,               //
                               int y_first_row, int y_rows_held,               //
                               float alpha, float beta) {
  START_TEXEL
  const float4 v = read_imagef(x, kTexel, (int2)(image_x, n * x_rows_held + x_first_row + row));
  write_imagef(y, (int2)(image_x, n * y_rows_held + y_first_row + row),
               keep_lanes4(ACTIVATE(v, alpha, beta), channels - texel * 4));
}
