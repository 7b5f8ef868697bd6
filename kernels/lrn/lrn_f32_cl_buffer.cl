// Divides an element by a power of a sum of its neighbours' squares, Nhwc buffers.
//
// Define: HAS_USUAL_BETA, beta is 3/4. One work-item is one output pixel times LANES channels:
// channels first, then columns, rows, batch. Pad lanes become zero.

// LANES channels of a pixel; those that are not there are zero.
static inline CHUNK_FLOATS load_channels(global const TYPE_0* pixel, int first, int channels) {
#if LANES == 4
#define LOAD_CHANNEL(i) \
  ((uint)(first + i) < (uint)channels ? LOAD_ONE(TYPE_0, pixel, first + i) : 0.0f)
  return (float4)(LOAD_CHANNEL(0), LOAD_CHANNEL(1), LOAD_CHANNEL(2), LOAD_CHANNEL(3));
#else
  if (first >= 0 && first + 16 <= channels) return LOAD_LANES(TYPE_0, pixel + first, 16);
  float lanes[16];
  for (int i = 0; i < 16; ++i) {
    const int channel = first + i;
    lanes[i] = channel >= 0 && channel < channels ? LOAD_ONE(TYPE_0, pixel, channel) : 0.0f;
  }
  return vload16(0, lanes);
#endif
}

kernel void lrn_f32_cl_buffer(global const TYPE_0* restrict x,
                              global TYPE_Y* restrict y PARAMS(LrnBuffer)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int channel = first_channel + id % chunks * LANES;
  id /= chunks;
  const int column = id % out_w;
  id /= out_w;
  const int row = id % rows;
  const int n = id / rows;
  const int stored = min(LANES, (channels + 3) / 4 * 4 - channel);
  global const TYPE_0* const pixel = x + x_offset + n * x_batch_stride +
                                    (first_row + row - x_row_begin) * x_row_stride +
                                    column * x_pixel_stride;
  CHUNK_FLOATS sum = (CHUNK_FLOATS)(0.0f);
  for (int i = channel - below; i <= channel + above; ++i) {
    const CHUNK_FLOATS v = load_channels(pixel, i, channels);
    sum += v * v;
  }
  const CHUNK_FLOATS base = bias + scale * sum;
#if HAS_USUAL_BETA
  const CHUNK_FLOATS root = sqrt(base);
  const CHUNK_FLOATS divisor = root * sqrt(root);
#else
  const CHUNK_FLOATS divisor = pow(base, (CHUNK_FLOATS)(beta));
#endif
  const CHUNK_FLOATS v = load_channels(pixel, channel, channels) / divisor;
  STORE_CHUNK(
      TYPE_Y, KEEP_CHUNK(v, channels - channel),
      y + y_offset + n * y_batch_stride + row * y_row_stride + column * y_pixel_stride + channel,
      stored);
}
