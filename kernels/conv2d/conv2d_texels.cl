// Convolves texels of 4 channels in 2-D, in images or in Nhwc buffers. One work-item computes
// PIXELS (4) neighbouring pixels of one output row times one texel of output channels: a quarter of
// a panel of weights. With more than one group the channels of a group, in and out, are multiples
// of 4.
//
//   w     buffer [panel][kernel_h][kernel_w][group_in_c][16], ceil(group_out_c / 16) panels a group
//   bias  buffer [round_up(out_c, 16)]
//
// Defines: PIXELS, HAS_RESIDUAL, ACTIVATION. The row defines, in front of this text: CONV2D_SYMBOL;
// READ_ONLY, WRITE_ONLY, the types of x, residual and y; READ_TEXEL, which is zero left of the row,
// and WRITE_TEXEL of texel `at` of row `row`, with `pitch` texels in a row. All take the operand's
// element type.
// Ids: texel of the output channels, block of pixels, batch and row. Neighbours in the first id
// read the same texels of x and, four of them, one 64-byte line of weights.
//
// Per texel of 4 input channels: 4 fetches of x and 4 loads of weights, of 16 bytes each, feed 64
// multiply-adds: 16 a fetch, 8 a load of either kind. Registers: 4 sums, 4 texels and 4 rows of
// weights, 48 floats.
// Padding: columns outside get a place left of the row (inside they would be texels of another
// column); rows outside are skipped.
kernel void CONV2D_SYMBOL(READ_ONLY(TYPE_0) x, global const float* restrict w,
                          global const float* restrict bias,
#if HAS_RESIDUAL
                          READ_ONLY(TYPE_3) residual,
#endif
                          WRITE_ONLY(TYPE_Y) y PARAMS(Conv2dTexels)) {
  if (is_past_grid(texels, blocks, batch_rows)) return;
  const int texel = first_texel + (int)get_global_id(0);
  const int first_pixel = (int)get_global_id(1) * PIXELS;
  const int n = (int)get_global_id(2) / rows;
  const int out_row = first_row + (int)get_global_id(2) % rows;

  const int x_pitch = in_w * x_texels;
  const int y_pitch = out_w * y_texels;
  float4 sum[PIXELS];
#pragma unroll
  for (int p = 0; p < PIXELS; ++p) sum[p] = (float4)(0.0f);

  const int group = texel * 4 / group_out_c;
  const int group_channel = texel * 4 % group_out_c;
  const int panel = group * ((group_out_c + 15) / 16) + group_channel / 16;
  const int first_in_texel = x_first_texel + group * (group_in_c / 4);
  const int whole_texels = group_in_c / 4;
  const int last_channels = group_in_c % 4;
  global const float* w_tap =
      w + panel * kernel_h * kernel_w * group_in_c * 16 + group_channel % 16;

  for (int i = 0; i < kernel_h; ++i) {
    const int in_row = out_row * stride_h - pad_top + i * dilation_h;
    if (in_row < 0 || in_row >= in_h) {
      w_tap += kernel_w * group_in_c * 16;
      continue;
    }
    const int image_y = n * x_rows_held + in_row - x_row_begin;
    for (int j = 0; j < kernel_w; ++j) {
      int image_x[PIXELS];
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) {
        const int column = (first_pixel + p) * stride_w - pad_left + j * dilation_w;
        image_x[p] = column >= 0 && column < in_w ? column * x_texels + first_in_texel : OUTSIDE;
      }
      for (int t = 0; t < whole_texels; ++t, w_tap += 64) {
        const float4 w0 = vload4(0, w_tap);
        const float4 w1 = vload4(4, w_tap);
        const float4 w2 = vload4(8, w_tap);
        const float4 w3 = vload4(12, w_tap);
#pragma unroll
        for (int p = 0; p < PIXELS; ++p) {
          const float4 v = READ_TEXEL(TYPE_0, x, image_x[p] + t, image_y, x_pitch);
          sum[p] += (float4)(v.x) * w0;
          sum[p] += (float4)(v.y) * w1;
          sum[p] += (float4)(v.z) * w2;
          sum[p] += (float4)(v.w) * w3;
        }
      }
      if (last_channels != 0) {
        // There are no weights for the pad lanes of the last texel.
        const float4 none = (float4)(0.0f);
        const float4 w0 = vload4(0, w_tap);
        const float4 w1 = last_channels > 1 ? vload4(4, w_tap) : none;
        const float4 w2 = last_channels > 2 ? vload4(8, w_tap) : none;
#pragma unroll
        for (int p = 0; p < PIXELS; ++p) {
          const float4 v = READ_TEXEL(TYPE_0, x, image_x[p] + whole_texels, image_y, x_pitch);
          sum[p] += (float4)(v.x) * w0;
          sum[p] += (float4)(v.y) * w1;
          sum[p] += (float4)(v.z) * w2;
        }
        w_tap += last_channels * 16;
      }
    }
  }

  const float4 texel_bias = vload4(texel, bias);
#pragma unroll
  for (int p = 0; p < PIXELS; ++p) {
    if (first_pixel + p < out_w) {
      const int out_x = (first_pixel + p) * y_texels + y_first_texel + texel;
      float4 v = sum[p] + texel_bias;
#if HAS_RESIDUAL
      const int residual_texels = (out_c + 3) / 4;
      v += READ_TEXEL(TYPE_3, residual, (first_pixel + p) * residual_texels + texel,
                      n * residual_rows_held + out_row - residual_row_begin,
                      out_w * residual_texels);
#endif
      v = keep_lanes4(ACTIVATE(v, alpha, beta), out_c - texel * 4);
      WRITE_TEXEL(TYPE_Y, y, out_x, n * y_rows_held + out_row - y_row_begin, y_pitch, v);
    }
  }
}
