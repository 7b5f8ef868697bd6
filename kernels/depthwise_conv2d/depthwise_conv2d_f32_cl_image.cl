// Computes a depthwise 2-D convolution, RGBA images. One work-item computes PIXELS (4) neighbouring
// pixels of one output row times one texel of 4 channels.
//
//   x, residual, y  images, x = w * ceil(c / 4) + c / 4, y = n * rows held + row - first row held
//   w               buffer [kernel_h][kernel_w][round_up(c, 16)]
//   bias            buffer [round_up(c, 16)]
//
// Defines: PIXELS, HAS_RESIDUAL, ACTIVATION.
// Ids: texel of the channels, block of pixels, batch and row. Each tap takes one image fetch for 4
// multiply-adds and one 16-byte load of weights for PIXELS taps. Registers: 4 sums, 4 texels, one
// row of weights, 36 floats. Columns outside get an x coordinate outside the image, where the
// sampler gives zero; rows outside are skipped.
kernel void depthwise_conv2d_f32_cl_image(read_only image2d_t x, global const float* restrict w,
                                          global const float* restrict bias,
#if HAS_RESIDUAL
                                          read_only image2d_t residual,
#endif
                                          write_only image2d_t y PARAMS(DepthwiseConv2dImage)) {
  if (is_past_grid(texels, blocks, batch_rows)) return;
  const int texel = first_texel + (int)get_global_id(0);
  const int first_pixel = (int)get_global_id(1) * PIXELS;
  const int n = (int)get_global_id(2) / rows;
  const int out_row = first_row + (int)get_global_id(2) % rows;
  const int w_stride = (channels + 15) / 16 * 16;

  const float4 start = vload4(texel, bias);
  float4 sum[PIXELS];
#pragma unroll
  for (int p = 0; p < PIXELS; ++p) sum[p] = start;

  for (int i = 0; i < kernel_h; ++i) {
    const int in_row = out_row * stride_h - pad_top + i * dilation_h;
    if (in_row < 0 || in_row >= in_h) continue;
    const int image_y = n * x_rows_held + in_row - x_row_begin;
    for (int j = 0; j < kernel_w; ++j) {
      const float4 weights = vload4(texel, w + (i * kernel_w + j) * w_stride);
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) {
        const int column = (first_pixel + p) * stride_w - pad_left + j * dilation_w;
        const int image_x =
            column >= 0 && column < in_w ? column * x_texels + x_first_texel + texel : OUTSIDE;
        sum[p] += read_imagef(x, kTexel, (int2)(image_x, image_y)) * weights;
      }
    }
  }

#pragma unroll
  for (int p = 0; p < PIXELS; ++p) {
    if (first_pixel + p < out_w) {
      const int out_x = (first_pixel + p) * y_texels + y_first_texel + texel;
      float4 v = sum[p];
#if HAS_RESIDUAL
      v += read_imagef(residual, kTexel,
                       (int2)((first_pixel + p) * ((channels + 3) / 4) + texel,
                              n * residual_rows_held + out_row - residual_row_begin));
#endif
      v = keep_lanes4(ACTIVATE(v, alpha, beta), channels - texel * 4);
      write_imagef(y, (int2)(out_x, n * y_rows_held + out_row - y_row_begin), v);
    }
  }
}
