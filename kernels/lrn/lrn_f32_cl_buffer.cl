// Divides an element by a power of a sum of its neighbours' squares, Nhwc buffers.
//
// Define: HAS_USUAL_BETA, beta is 3/4. One work-item is one output pixel times 16 channels: channels
// first, then columns, rows, batch. Pad lanes become zero.

// 16 channels of a pixel; those that are not there are zero.
static inline float16 load_channels(global const TYPE_0* pixel, int first, int channels) {
  if (first >= 0 && first + 16 <= channels) return LOAD_LANES(TYPE_0, pixel + first, 16);
  float lanes[16];
  for (int i = 0; i < 16; ++i) {
    const int channel = first + i;
    lanes[i] = channel >= 0 && channel < channels ? LOAD_ONE(TYPE_0, pixel, channel) : 0.0f;
  }
  return vload16(0, lanes);
}

kernel void lrn_f32_cl_buffer(global const TYPE_0* restrict x,
                              global TYPE_Y* restrict y PARAMS(LrnBuffer)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int channel = first_channel + id % chunks * 16;
  id /= chunks;
  const int column = id % out_w;
  id /= out_w;
  const int row = id % rows;
  const int n = id / rows;
  const int stored = min(16, (channels + 3) / 4 * 4 - channel);
  global const TYPE_0* const pixel = x + x_offset + n * x_batch_stride +
                                    (first_row + row - x_row_begin) * x_row_stride +
                                    column * x_pixel_stride;
  float16 sum = 0.0f;
  for (int i = channel - below; i <= channel + above; ++i) {
    const float16 v = load_channels(pixel, i, channels);
    sum += v * v;
  }
  const float16 base = bias + scale * sum;
#if HAS_USUAL_BETA
  const float16 root = sqrt(base);
  const float16 divisor = root * sqrt(root);
#else
  const float16 divisor = pow(base, (float16)(beta));
#endif
  const float16 v = load_channels(pixel, channel, channels) / divisor;
  STORE_LANES(
      TYPE_Y, keep_lanes(v, channels - channel),
      y + y_offset + n * y_batch_stride + row * y_row_stride + column * y_pixel_stride + channel,
      stored);
}
