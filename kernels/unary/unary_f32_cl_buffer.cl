// y = f(x) element by element, for Plain or Nhwc buffers in runs; f is ACTIVATION (define). Offsets
// and strides are in elements.
kernel void unary_f32_cl_buffer(global const TYPE_0* restrict x,
                                global TYPE_Y* restrict y PARAMS(UnaryBuffer)) {
  START_RUN
  CHUNK_FLOATS v = LOAD_RUN(TYPE_0, x + RUN_AT(x), stored);
  v = ACTIVATE(v, alpha, beta);
  if (valid < LANES) v = KEEP_CHUNK(v, valid);
  STORE_RUN(TYPE_Y, v, y + RUN_AT(y), stored);
}
