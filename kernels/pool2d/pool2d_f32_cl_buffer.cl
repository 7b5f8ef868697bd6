// Maximum or average of a window that slides over each channel, Nhwc buffers.
//
// Defines: IS_MAX; COUNT_INCLUDE_PAD; TAP_SPLIT, work-items that share one output.
// One output is one pixel times 16 channels; channels first (neighbours in memory), then columns,
// rows, batch. With TAP_SPLIT > 1, for large windows, item s of a group takes taps s, s + TAP_SPLIT
// ... and the first joins their results in order: the result does not depend on timing.
// Taps outside the map do not count; COUNT_INCLUDE_PAD: they do in the divisor, up to the padding.
#if IS_MAX
#define JOIN(a, b) max(a, b)
#define NOTHING (-INFINITY)
#else
#define JOIN(a, b) ((a) + (b))
#define NOTHING 0.0f
#endif

kernel void pool2d_f32_cl_buffer(
    global const float* restrict x, global float* restrict y, int item_count, int chunks,
    int first_channel, int rows, int first_row, int out_w,  // the part
    int in_h, int in_w, int kernel_h, int kernel_w, int stride_h, int stride_w, int dilation_h,
    int dilation_w, int pad_top, int pad_left, int pad_bottom, int pad_right,  //
    int x_row_begin, int x_batch_stride, int x_row_stride, int pixel_stride,   // of x and of y
    int y_offset, int y_batch_stride, int y_row_stride) {                      // of first_row
#if TAP_SPLIT > 1
  // One group per output, no group too many: no item may leave before the barrier.
  local float16 partial[TAP_SPLIT];
  int id = get_group_id(0);
#else
  int id = get_global_id(0);
  if (id >= item_count) return;
#endif
  const int channel = first_channel + id % chunks * 16;
  id /= chunks;
  const int column = id % out_w;
  id /= out_w;
  const int row = id % rows;
  const int n = id / rows;
  const int lanes = min(16, pixel_stride - channel);

  // Taps [i0, i1) x [j0, j1) of the window are inside the map.
  const int in_row0 = (first_row + row) * stride_h - pad_top;
  const int in_column0 = column * stride_w - pad_left;
  const int i0 = in_row0 < 0 ? (dilation_h - 1 - in_row0) / dilation_h : 0;
  const int j0 = in_column0 < 0 ? (dilation_w - 1 - in_column0) / dilation_w : 0;
  const int i1 = min(kernel_h, (in_h - in_row0 + dilation_h - 1) / dilation_h);
  const int j1 = min(kernel_w, (in_w - in_column0 + dilation_w - 1) / dilation_w);

  const int held_row0 = in_row0 - x_row_begin;
  global const float* const x_map = x + n * x_batch_stride + channel;
  float16 result = (float16)(NOTHING);
#if TAP_SPLIT > 1
  const int split = get_local_id(0);
  const int tap_count = (i1 - i0) * (j1 - j0);
  for (int t = split; t < tap_count; t += TAP_SPLIT) {
    const int i = i0 + t / (j1 - j0);
    const int j = j0 + t % (j1 - j0);
    result = JOIN(result, load_lanes(x_map + (held_row0 + i * dilation_h) * x_row_stride +
                                         (in_column0 + j * dilation_w) * pixel_stride,
                                     lanes));
  }
  partial[split] = result;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (split != 0) return;
  for (int s = 1; s < TAP_SPLIT; ++s) result = JOIN(result, partial[s]);
#else
  for (int i = i0; i < i1; ++i) {
    global const float* const x_row = x_map + (held_row0 + i * dilation_h) * x_row_stride;
    for (int j = j0; j < j1; ++j)
      result =
          JOIN(result, load_lanes(x_row + (in_column0 + j * dilation_w) * pixel_stride, lanes));
  }
#endif
#if !IS_MAX
#if COUNT_INCLUDE_PAD
  const int counted_h = min(kernel_h, (in_h + pad_bottom - in_row0 + dilation_h - 1) / dilation_h);
  const int counted_w =
      min(kernel_w, (in_w + pad_right - in_column0 + dilation_w - 1) / dilation_w);
  result /= (float)(counted_h * counted_w);
#else
  result /= (float)((i1 - i0) * (j1 - j0));
#endif
#endif
  store_lanes(
      result,
      y + y_offset + n * y_batch_stride + row * y_row_stride + column * pixel_stride + channel,
      lanes);
}
