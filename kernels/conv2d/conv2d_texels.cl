// Convolves texels of 4 channels in 2-D, in images or in Nhwc buffers. One work-item computes
// PIXELS neighbouring pixels of one output row times TEXELS neighbouring texels of output channels:
// quarters of a panel, whose weights are neighbours in memory. With more than one group the
// channels of a group, in and out, are multiples of 4, and the output's of 4 TEXELS.
//
//   w     buffer [panel][kernel_h][kernel_w][group_in_c][16], ceil(group_out_c / 16) panels a group
//   bias  buffer [round_up(out_c, 16)]
//
// Defines: PIXELS (1 to 4), TEXELS (1 or 2), HAS_GROUPS (more than one), LAST_CHANNELS (input
// channels of a group in a last texel that is not full, 0 if all are), HAS_RESIDUAL, ACTIVATION. In
// front of this text: CONV2D_SYMBOL, and texel_image.cl or texel_buffer.cl.
// Ids: block of texels of the output channels, block of pixels, batch and row. Neighbours in the
// first id read the same texels of x and lines of weights.
//
// Per texel of 4 input channels: PIXELS fetches of x and 4 TEXELS loads of weights, of 16 bytes
// each, feed 16 PIXELS TEXELS multiply-adds. conv2d.h has the registers of a tile.
// Padding: rows outside are skipped before the loops. A tap that reaches outside for some pixel
// takes a loop of its own, in which those pixels read zeros; no other tap tests anything. Columns
// outside get a negative place, because in an image a column beyond the row is a texel of another
// one. Pixels past out_w read what the last one reads, so no tap reaches outside for them alone.
// A Mali has 64 registers, which 3 pixels times 2 texels fill: each number that lives through the
// loops without need costs a spill.
kernel void CONV2D_SYMBOL(READ_ONLY(TYPE_0) x, global const TYPE_1* restrict w,
                          global const float* restrict bias,
#if HAS_RESIDUAL
                          READ_ONLY(TYPE_3) residual,
#endif
                          WRITE_ONLY(TYPE_Y) y PARAMS(Conv2dTexels)) {
  if (is_past_grid((texels + TEXELS - 1) / TEXELS, blocks, batch_rows)) return;
  const int texel = first_texel + (int)get_global_id(0) * TEXELS;
  const int first_pixel = (int)get_global_id(1) * PIXELS;
  const int n = (int)get_global_id(2) / rows;
  const int out_row = first_row + (int)get_global_id(2) % rows;
  const int y_row = n * y_rows_held + out_row - y_row_begin;

  SUMS(4, sum, PIXELS * TEXELS, 4)

  const int group = HAS_GROUPS ? texel * 4 / group_out_c : 0;
  const int group_channel = texel * 4 - group * group_out_c;
  const int panel = group * ((group_out_c + 15) / 16) + group_channel / 16;
  const int first_in_texel = x_first_texel + group * (group_in_c / 4);
  const int whole_texels = group_in_c / 4;
  global const TYPE_1* w_tap =
      w + panel * kernel_h * kernel_w * group_in_c * 16 + group_channel % 16;

// Adds the products of channel c of a texel, which is lane `lane` of v.
#define ADD_CHANNEL(c, lane)                                      \
  _Pragma("unroll") for (int b = 0; b < TEXELS; ++b) {            \
    const ACC4 weights = FACTOR4(TYPE_1, w_tap + 16 * c + 4 * b); \
    _Pragma("unroll") for (int p = 0; p < PIXELS; ++p)            \
      sum[p * TEXELS + b] += (ACC4)(v[p].lane) * weights;         \
  }
// Adds the first `channels` of a texel, a constant: there are no weights for pad lanes.
#define ADD_TEXEL(READ, channels)                          \
  {                                                        \
    ACC4 v[PIXELS];                                        \
    _Pragma("unroll") for (int p = 0; p < PIXELS; ++p) {   \
      v[p] = READ(TYPE_0, x, at[p], image_y);              \
      at[p] += TEXEL_AT(1, 0, 0);                          \
    }                                                      \
    ADD_CHANNEL(0, x)                                      \
    if (channels > 1) ADD_CHANNEL(1, y)                    \
    if (channels > 2) ADD_CHANNEL(2, z)                    \
    if (channels > 3) ADD_CHANNEL(3, w)                    \
    w_tap += channels * 16;                                \
  }
// Adds `count` whole texels of a tap, and the one with the last channels if has_last.
#define ADD_TEXELS(READ, count, has_last)                         \
  {                                                               \
    for (int t = 0; t < count; ++t) ADD_TEXEL(READ, 4);           \
    if (LAST_CHANNELS && has_last) ADD_TEXEL(READ, LAST_CHANNELS) \
  }
#define ADD_OF_TAP(count, has_last)             \
  if (is_inside)                                \
    ADD_TEXELS(READ_FACTOR, count, has_last)    \
  else                                          \
    ADD_TEXELS(FACTOR_OR_ZERO, count, has_last)
  const int in_row = out_row * stride_h - pad_top;
  const int row_end = min((in_h - in_row + dilation_h - 1) / dilation_h, kernel_h);
  const int row_begin = clamp((dilation_h - 1 - in_row) / dilation_h, 0, kernel_h);
  w_tap += row_begin * kernel_w * group_in_c * 16;
  int image_y = n * x_rows_held + in_row + row_begin * dilation_h - x_row_begin;
  for (int rows_left = row_end - row_begin; rows_left > 0; --rows_left, image_y += dilation_h) {
    for (int j = 0; j < kernel_w; ++j) {
      int at[PIXELS];
      bool is_inside = true;
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) {
        const int column =
            min(first_pixel + p, out_w - 1) * stride_w - pad_left + j * dilation_w;
        const bool has_column = column >= 0 && column < in_w;
        is_inside = is_inside && has_column;
        at[p] = has_column ? TEXEL_AT(column * x_texels + first_in_texel, image_y, in_w * x_texels)
                           : OUTSIDE;
      }
      EACH_RUN(whole_texels, run) {
        ADD_OF_TAP(run, !HAS_RUNS)
        END_RUN(4, sum, PIXELS * TEXELS, 4, run)
      }
#if LAST_CHANNELS && HAS_RUNS
      // A Mali has no registers for it in the loop over runs. Without runs, compilers load the weights
      // of an `if` for the last channels alone before it, and the registers do not suffice here.
      ADD_OF_TAP(0, true)
      END_RUN(4, sum, PIXELS * TEXELS, 4, 1)
#endif
    }
  }

#pragma unroll
  for (int b = 0; b < TEXELS; ++b) {
    if (texel + b >= first_texel + texels) break;
    const float4 texel_bias = vload4(texel + b, bias);
#pragma unroll
    for (int p = 0; p < PIXELS; ++p) {
      if (first_pixel + p >= out_w) break;
      float4 v = TOTAL(4, sum, p * TEXELS + b) + texel_bias;
#if HAS_RESIDUAL
      const int residual_texels = (out_c + 3) / 4;
      const int residual_y = n * residual_rows_held + out_row - residual_row_begin;
      v += READ_TEXEL(TYPE_3, residual,
                      TEXEL_AT((first_pixel + p) * residual_texels + texel + b, residual_y,
                               out_w * residual_texels),
                      residual_y);
#endif
      v = keep_lanes4(ACTIVATE(v, alpha, beta), out_c - (texel + b) * 4);
      WRITE_TEXEL(TYPE_Y, y,
                  TEXEL_AT((first_pixel + p) * y_texels + y_first_texel + texel + b, y_row,
                           out_w * y_texels),
                  y_row, v);
    }
  }
}
