// Convolves texels of 4 channels depthwise in 2-D, in images or in Nhwc buffers. One work-item
// computes PIXELS neighbouring pixels of one output row times one texel.
//
//   w     buffer [kernel_h][kernel_w][round_up(c, 16)]
//   bias  buffer [round_up(c, 16)]
//
// Defines: PIXELS, HAS_RESIDUAL, ACTIVATION; KERNEL_W, STRIDE_W: the filter's columns and their
// stride where neighbouring outputs share inputs (depthwise_shares_inputs()), else 0. In front of
// this text: DEPTHWISE_SYMBOL, and texel_image.cl or texel_buffer.cl.
// Ids: texel of the channels, block of pixels, batch and row.
//
// With KERNEL_W an item loads each column that its pixels reach once for a row of taps: 6 texels
// and 3 of weights for 12 products of 3 x 3 taps. Registers: a sum for each pixel, a row of
// weights, a texel: 32 floats for 3 x 3, 40 for 5 x 5. With KERNEL_W and without, a sum's taps are
// added row by row, from left to right. Padding: rows outside are skipped. Items that reach over
// the left or right edge take a path of their own, in which columns outside are zero; the others
// test nothing.
#define PLACE_OF(column) \
  ((uint)(column) < (uint)in_w ? (column)*x_texels + x_texel : OUTSIDE)
#if KERNEL_W
#define SPAN ((PIXELS - 1) * STRIDE_W + KERNEL_W)
// Adds the taps of all rows inside; READ is a macro of the column and the row.
#define ADD_ROWS(READ)                                                    \
  for (int i = first_tap; i < end_tap; ++i) {                             \
    ACC4 weights[KERNEL_W];                                               \
    _Pragma("unroll") for (int j = 0; j < KERNEL_W; ++j, w_tap += w_step) \
      weights[j] = FACTOR4(TYPE_1, ELEMENT_AT(TYPE_1, w, w_tap));         \
    _Pragma("unroll") for (int c = 0; c < SPAN; ++c) {                    \
      const ACC4 v = READ(c, row0 + i);                                   \
      _Pragma("unroll") for (int p = 0; p < PIXELS; ++p) {                \
        const int j = c - p * STRIDE_W;                                   \
        if (j >= 0 && j < KERNEL_W) sum[p] += v * weights[j];             \
      }                                                                   \
    }                                                                     \
  }
#define READ_INSIDE(c, row) \
  READ_FACTOR(TYPE_0, x, TEXEL_AT(place + c * x_texels, row, x_pitch), row)
#define READ_AT_EDGE(c, row) FACTOR_OR_ZERO(TYPE_0, x, TEXEL_AT(places[c], row, x_pitch), row)
#endif

kernel void DEPTHWISE_SYMBOL(READ_ONLY(TYPE_0) x, global const TYPE_1* restrict w,
                             global const float* restrict bias,
#if HAS_RESIDUAL
                             READ_ONLY(TYPE_3) residual,
#endif
                             WRITE_ONLY(TYPE_Y) y PARAMS(DepthwiseConv2dTexels)) {
  if (is_past_grid(texels, blocks, batch_rows)) return;
  const int texel = first_texel + (int)get_global_id(0);
  const int first_pixel = (int)get_global_id(1) * PIXELS;
  const int n = BATCH_OF(get_global_id(2));
  const int out_row = first_row + ROW_OF(get_global_id(2));

  const float4 texel_bias = vload4(texel, bias);
  ACC4 sum[PIXELS];
#pragma unroll
  for (int p = 0; p < PIXELS; ++p) sum[p] = BEGIN_SUM(ACC4, texel_bias);

  const int w_step = (channels + 15) / 16 * 16;
  const int x_pitch = in_w * x_texels;
  const int in_row0 = out_row * stride_h - pad_top;
  const int row0 = n * x_rows_held - x_row_begin + in_row0;
  const int first_column = first_pixel * stride_w - pad_left;
  const int x_texel = x_first_texel + texel;
#if KERNEL_W
  const int first_tap = max(-in_row0, 0);
  const int end_tap = min(kernel_h, in_h - in_row0);
  int w_tap = first_tap * KERNEL_W * w_step + texel * 4;
  if (first_column >= 0 && first_column + SPAN <= in_w) {
    const int place = first_column * x_texels + x_texel;
    ADD_ROWS(READ_INSIDE)
  } else {
    int places[SPAN];
#pragma unroll
    for (int c = 0; c < SPAN; ++c) places[c] = PLACE_OF(first_column + c);
    ADD_ROWS(READ_AT_EDGE)
  }
#else
  for (int i = 0; i < kernel_h; ++i) {
    const int in_row = in_row0 + i * dilation_h;
    if (in_row < 0 || in_row >= in_h) continue;
    for (int j = 0; j < kernel_w; ++j) {
      const ACC4 weights = FACTOR4(
          TYPE_1, ELEMENT_AT(TYPE_1, w, (i * kernel_w + j) * w_step + texel * 4));
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) {
        const int place = PLACE_OF(first_column + p * stride_w + j * dilation_w);
        const int x_row = row0 + i * dilation_h;
        sum[p] += FACTOR_OR_ZERO(TYPE_0, x, TEXEL_AT(place, x_row, x_pitch), x_row) * weights;
      }
    }
  }
#endif

#pragma unroll
  for (int p = 0; p < PIXELS; ++p) {
    if (first_pixel + p < out_w) {
      float4 v = END_SUM(convert_float4(sum[p]), texel_bias);
#if HAS_RESIDUAL
      const int residual_texels = (channels + 3) / 4;
      const int residual_row = n * residual_rows_held + out_row - residual_row_begin;
      v += READ_TEXEL(TYPE_3, residual,
                      TEXEL_AT((first_pixel + p) * residual_texels + texel, residual_row,
                               out_w * residual_texels),
                      residual_row);
#endif
      v = keep_lanes4(ACTIVATE(v, alpha, beta), channels - texel * 4);
      const int y_row = n * y_rows_held + out_row - y_row_begin;
      WRITE_TEXEL(TYPE_Y, y,
                  TEXEL_AT((first_pixel + p) * y_texels + y_first_texel + texel, y_row,
                           out_w * y_texels),
                  y_row, v);
    }
  }
}
