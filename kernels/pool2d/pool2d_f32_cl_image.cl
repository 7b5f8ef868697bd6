// Takes the maximum or average of a window that slides over each channel, RGBA images.
//
// Defines: IS_MAX; COUNT_INCLUDE_PAD; TAP_SPLIT, work-items that share one texel of y;
// ADDS_CHANNELS, y has channels behind those of x, which are zero: whole texels. Ids: texel of the
// channels (times TAP_SPLIT), column, batch and row. One image fetch per tap. With TAP_SPLIT > 1,
// for large windows, item s of a group takes taps s, s + TAP_SPLIT ... and the first joins their
// results in order: the result does not depend on timing. Taps outside the map do not count;
// COUNT_INCLUDE_PAD: they do in the divisor, up to the padding.
#include "kernels/pool2d/pool_window.cl"

kernel void pool2d_f32_cl_image(read_only image2d_t x, write_only image2d_t y PARAMS(Pool2dImage)) {
#if TAP_SPLIT > 1
  // There is one group per output and no group too many: no item may leave before the barrier.
  local float4 partial[TAP_SPLIT];
  const int texel = first_texel + (int)get_group_id(0);
#else
  if (is_past_grid(texels, columns, batch_rows)) return;
  const int texel = first_texel + (int)get_global_id(0);
#endif
  const int column = (int)get_global_id(1);
  const int n = BATCH_OF(get_global_id(2));
  const int row = ROW_OF(get_global_id(2));

  START_WINDOW
#if ADDS_CHANNELS
  const bool is_added = texel * 4 >= x_channels;
#endif

  const int x_at = x_first_texel + texel;
  const int image_row0 = n * x_rows_held + in_row0 - x_row_begin;
  float4 result = (float4)(NOTHING);
#if TAP_SPLIT > 1
  const int split = get_local_id(0);
  const int tap_count = TAP_ROWS(i1 - i0) * (j1 - j0);
  for (int t = split; t < tap_count; t += TAP_SPLIT) {
    const int i = i0 + t / (j1 - j0);
    const int j = j0 + t % (j1 - j0);
    result = JOIN(result, READ_MAP(TYPE_0, x,
                                   (int2)((in_column0 + j * DILATION_W) * x_texels + x_at,
                                          image_row0 + i * DILATION_H)));
  }
  partial[split] = result;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (split != 0) return;
  for (int s = 1; s < TAP_SPLIT; ++s) result = JOIN(result, partial[s]);
#else
  for (int i = i0; i < i0 + TAP_ROWS(i1 - i0); ++i)
    for (int j = j0; j < j1; ++j)
      result = JOIN(result, READ_MAP(TYPE_0, x,
                                     (int2)((in_column0 + j * DILATION_W) * x_texels + x_at,
                                            image_row0 + i * DILATION_H)));
#endif
  DIVIDE(result)
#if ADDS_CHANNELS
  if (is_added) result = 0.0f;
#endif
  WRITE_MAP(TYPE_Y, y, TEXEL_OF(y), result);
}
