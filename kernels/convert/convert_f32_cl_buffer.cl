// Copies a part of x to y, Plain or Nhwc buffers.
//
// Define: FORM. 0: both keep the same order; in runs. Else one
// work-item per block of 16 pixels times 16 channels, with strides for both: 1: y is Nhwc, channels
// innermost and zero from valid_count to stored_count; 2: y is Plain, pixels innermost. A block
// touches 16 lines of 64 bytes on either side and uses all of them. Elements throughout.
#if FORM == 0
kernel void convert_f32_cl_buffer(global const TYPE_0* restrict x,
                                  global TYPE_Y* restrict y PARAMS(ConvertRuns)) {
  START_RUN
  float16 v = LOAD_LANES(TYPE_0, x + RUN_AT(x), stored);
  if (valid < 16) v = keep_lanes(v, valid);
  STORE_LANES(TYPE_Y, v, y + RUN_AT(y), stored);
}
#else
kernel void convert_f32_cl_buffer(global const TYPE_0* restrict x,
                                  global TYPE_Y* restrict y PARAMS(ConvertBlocks)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int first_pixel = id % blocks * 16;
  id /= blocks;
  const int first_channel = id % chunks * 16;
  const int n = id / chunks;
  const int pixel_count = min(16, pixels - first_pixel);
  const int valid = min(16, valid_count - first_channel);
  const int stored = min(16, stored_count - first_channel);
  global const TYPE_0* const from = x + x_offset + n * x_batch_stride +
                                    first_pixel * x_pixel_stride + first_channel * x_channel_stride;
  global TYPE_Y* const to = y + y_offset + n * y_batch_stride + first_pixel * y_pixel_stride +
                            first_channel * y_channel_stride;
#if FORM == 1
  for (int p = 0; p < pixel_count; ++p)
    for (int c = 0; c < stored; ++c)
      STORE_ONE(
          TYPE_Y,
          c < valid ? LOAD_ONE(TYPE_0, from, p * x_pixel_stride + c * x_channel_stride) : 0.0f, to,
          p * y_pixel_stride + c);
#else
  for (int c = 0; c < valid; ++c)
    for (int p = 0; p < pixel_count; ++p)
      STORE_ONE(TYPE_Y, LOAD_ONE(TYPE_0, from, p * x_pixel_stride + c * x_channel_stride), to,
                p + c * y_channel_stride);
#endif
}
#endif
