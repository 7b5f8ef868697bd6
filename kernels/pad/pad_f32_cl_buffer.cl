// Puts a border around maps, Nhwc buffers.
//
// Defines: KIND, a member of Pad: 1 constant, 2 reflect, 3 edge, 4 wrap; HAS_VALUE, an operand with
// the constant.
// One work-item is one output pixel times 16 channels; channels first, then columns, rows, batch.
// The element of x that stands at `place`, in front of x, in it or behind it: pad_place_in_x().
static inline int place_in_x(int place, int extent) {
  if (KIND == 3 || extent == 1) return clamp(place, 0, extent - 1);
  const int period = KIND == 4 ? extent : 2 * (extent - 1);
  place %= period;
  if (place < 0) place += period;
  return place < extent ? place : period - place;
}

kernel void pad_f32_cl_buffer(global const TYPE_0* restrict x,
#if HAS_VALUE
                              global const TYPE_1* restrict value,
#endif
                              global TYPE_Y* restrict y PARAMS(PadBuffer)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int channel = first_channel + id % chunks * 16;
  id /= chunks;
  const int column = id % out_w;
  id /= out_w;
  const int row = first_row + id % rows;
  const int n = id / rows;
  const int lanes = min(16, pixel_stride - channel);
  int h = row - begin_h;
  int w = column - begin_w;
  float16 result = 0.0f;
#if KIND == 1
  if (h < 0 || h >= in_h || w < 0 || w >= in_w) {
#if HAS_VALUE
    result = keep_lanes((float16)(LOAD_ONE(TYPE_1, value, 0)), channels - channel);
#endif
  } else
#else
  h = place_in_x(h, in_h);
  w = place_in_x(w, in_w);
#endif
    result = LOAD_LANES(
        TYPE_0,
        x + n * x_batch_stride + (h - x_row_begin) * x_row_stride + w * pixel_stride + channel,
        lanes);
  STORE_LANES(TYPE_Y, result,
              y + n * y_batch_stride + (row - y_row_begin) * y_row_stride +
                  column * pixel_stride + channel,
              lanes);
}
