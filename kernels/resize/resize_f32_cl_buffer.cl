// Resizes maps along rows and columns, Nhwc buffers.
//
// One work-item is one output pixel times LANES channels; channels first, then columns, rows,
// batch.
#include "kernels/resize/resize_map.cl"

kernel void resize_f32_cl_buffer(global const TYPE_0* restrict x,
                                 global TYPE_Y* restrict y PARAMS(ResizeBuffer)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int channel = first_channel + id % chunks * LANES;
  id /= chunks;
  const int column = id % out_w;
  id /= out_w;
  const int row = id % rows;
  const int n = id / rows;
  const int lanes = min(LANES, (channels + 3) / 4 * 4 - channel);
  START_MAP

  global const TYPE_0* const x_map = x + x_offset + n * x_batch_stride + channel;
#if IS_NEAREST
  const int h = nearest_of(at_h, in_h, ROUNDING_H) - x_row_begin;
  const int w = nearest_of(at_w, in_w, ROUNDING_W);
  const CHUNK_FLOATS result =
      LOAD_CHUNK(TYPE_0, x_map + h * x_row_stride + w * x_pixel_stride, lanes);
#else
  float bottom_weight;
  float right_weight;
  const int2 h = (pair_of(at_h, in_h, &bottom_weight) - x_row_begin) * x_row_stride;
  const int2 w = pair_of(at_w, in_w, &right_weight) * x_pixel_stride;
  const CHUNK_FLOATS top_left = LOAD_CHUNK(TYPE_0, x_map + h.x + w.x, lanes);
  const CHUNK_FLOATS top_right = LOAD_CHUNK(TYPE_0, x_map + h.x + w.y, lanes);
  const CHUNK_FLOATS bottom_left = LOAD_CHUNK(TYPE_0, x_map + h.y + w.x, lanes);
  const CHUNK_FLOATS bottom_right = LOAD_CHUNK(TYPE_0, x_map + h.y + w.y, lanes);
  MIX_CORNERS(CHUNK_FLOATS)
#endif
  STORE_CHUNK(
      TYPE_Y, result,
      y + y_offset + n * y_batch_stride + row * y_row_stride + column * y_pixel_stride + channel,
      lanes);
}
