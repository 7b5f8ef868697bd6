// Computes y = f(x) element by element, for RGBA images; f is ACTIVATION (define). A work-item
// takes a texel of the part.
kernel void unary_f32_cl_image(read_only image2d_t x, write_only image2d_t y PARAMS(UnaryImage)) {
  START_TEXEL
  const float4 v = READ_MAP(TYPE_0, x, TEXEL_OF(x));
  WRITE_MAP(TYPE_Y, y, TEXEL_OF(y), keep_lanes4(ACTIVATE(v, alpha, beta), channels - texel * 4));
}
