// Takes the maximum or average of a window that slides over each channel, Nhwc buffers.
//
// Defines: IS_MAX; COUNT_INCLUDE_PAD; TAP_SPLIT, work-items that share one output; ADDS_CHANNELS,
// y has channels behind those of x, which are zero: whole chunks.
// One output is one pixel times LANES channels; channels first (neighbours in memory), then
// columns, rows, batch. With TAP_SPLIT > 1, for large windows, item s of a group takes taps s,
// s + TAP_SPLIT ... and the first joins their results in order: the result does not depend on
// timing.
// Taps outside the map do not count; COUNT_INCLUDE_PAD: they do in the divisor, up to the padding.
#include "kernels/pool2d/pool_window.cl"

kernel void pool2d_f32_cl_buffer(global const TYPE_0* restrict x,
                                 global TYPE_Y* restrict y PARAMS(Pool2dBuffer)) {
#if TAP_SPLIT > 1
  // There is one group per output and no group too many: no item may leave before the barrier.
  local CHUNK_FLOATS partial[TAP_SPLIT];
  int id = get_group_id(0);
#else
  int id = get_global_id(0);
  if (id >= item_count) return;
#endif
  const int channel = first_channel + id % chunks * LANES;
  id /= chunks;
  const int column = id % out_w;
  id /= out_w;
  const int row = id % rows;
  const int n = id / rows;
  const int lanes = min(LANES, (channels + 3) / 4 * 4 - channel);

  START_WINDOW
#if ADDS_CHANNELS
  const bool is_added = channel >= x_channels;
#endif

  const int held_row0 = in_row0 - x_row_begin;
  global const TYPE_0* const x_map = x + x_offset + n * x_batch_stride + channel;
  CHUNK_FLOATS result = (CHUNK_FLOATS)(NOTHING);
#if TAP_SPLIT > 1
  const int split = get_local_id(0);
  const int tap_count = TAP_ROWS(i1 - i0) * (j1 - j0);
  for (int t = split; t < tap_count; t += TAP_SPLIT) {
    const int i = i0 + t / (j1 - j0);
    const int j = j0 + t % (j1 - j0);
    result = JOIN(result, LOAD_CHUNK(TYPE_0, x_map + (held_row0 + i * DILATION_H) * x_row_stride +
                                                 (in_column0 + j * DILATION_W) * x_pixel_stride,
                                     lanes));
  }
  partial[split] = result;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (split != 0) return;
  for (int s = 1; s < TAP_SPLIT; ++s) result = JOIN(result, partial[s]);
#else
  for (int i = i0; i < i0 + TAP_ROWS(i1 - i0); ++i) {
    global const TYPE_0* const x_row = x_map + (held_row0 + i * DILATION_H) * x_row_stride;
    for (int j = j0; j < j1; ++j)
      result = JOIN(result, LOAD_CHUNK(TYPE_0, x_row + (in_column0 + j * DILATION_W) * x_pixel_stride,
                                       lanes));
  }
#endif
  DIVIDE(result)
#if ADDS_CHANNELS
  if (is_added) result = 0.0f;
#endif
  STORE_CHUNK(
      TYPE_Y, result,
      y + y_offset + n * y_batch_stride + row * y_row_stride + column * y_pixel_stride + channel,
      lanes);
}
