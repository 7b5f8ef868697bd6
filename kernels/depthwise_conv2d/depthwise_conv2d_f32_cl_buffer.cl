// Computes a depthwise 2-D convolution, Nhwc buffers. One work-item computes PIXELS neighbouring
// pixels of one output row times LANES channels. With 4 lanes, for GPUs whose work-items have few
// registers, depthwise_texels.cl says how; the rest is about 16.
//
//   x         [batch, rows held, in_w, round_up(c, 4)], first row held: x_row_begin
//   w         [kernel_h][kernel_w][round_up(c, 16)]
//   bias      [round_up(c, 16)]
//   residual  laid out like y, may have another window; only with HAS_RESIDUAL
//   y         [batch, rows held, out_w, round_up(c, 4)]; pad lanes written as zero
//
// Defines: LANES, PIXELS, HAS_RESIDUAL, ACTIVATION.
// Order of the work: channels first (neighbours in memory), then pixels, rows, batch. Each tap of
// 16 multiply-adds takes one load of 64 bytes of x; its weights are loaded once for PIXELS (7)
// pixels: 14 multiply-adds a load. Registers: PIXELS sums, one row of weights and one of x, of 16
// floats each: 144 floats.
#if LANES == 4
#define DEPTHWISE_SYMBOL depthwise_conv2d_f32_cl_buffer
#include "kernels/common/launch/texel_buffer.cl"
#include "kernels/depthwise_conv2d/depthwise_texels.cl"
#else
// Adds all taps to sum. `lanes`: channels of x that are in memory from x_rows on, 1 to 16. Inlined
// twice, so that sums stay in registers and whole chunks lose the cases of load_lanes().
static inline __attribute__((always_inline)) void add_taps(
    ACC16* sum, global const TYPE_0* x_rows, global const TYPE_1* w_tap, int lanes, int in_row0,
    int in_column0, int in_h, int in_w, int kernel_h, int kernel_w, int stride_w, int dilation_h,
    int dilation_w, int x_row_begin, int x_row_stride, int x_pixel_stride,
    int w_stride GRID_PARAMS_OF(TYPE_0)) {
  for (int i = 0; i < kernel_h; ++i) {
    const int in_row = in_row0 + i * dilation_h;
    if (in_row < 0 || in_row >= in_h) continue;
    global const TYPE_0* const x_row = x_rows + (in_row - x_row_begin) * x_row_stride;
    for (int j = 0; j < kernel_w; ++j) {
      const int column = in_column0 + j * dilation_w;
      const ACC16 weights = FACTOR_LANES(TYPE_1, w_tap + (i * kernel_w + j) * w_stride, 16);
#pragma unroll
      for (int p = 0; p < PIXELS; ++p) {
        const int at = column + p * stride_w;
        if (at >= 0 && at < in_w)
          sum[p] += FACTOR_LANES(TYPE_0, x_row + at * x_pixel_stride, lanes) * weights;
      }
    }
  }
}

kernel void depthwise_conv2d_f32_cl_buffer(global const TYPE_0* restrict x,
                                           global const TYPE_1* restrict w,
                                           global const float* restrict bias,
#if HAS_RESIDUAL
                                           global const TYPE_3* residual,
#endif
                                           global TYPE_Y* y PARAMS(DepthwiseConv2dBuffer)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int channel = first_channel + id % chunks * 16;
  id /= chunks;
  const int first_pixel = id % blocks * PIXELS;
  id /= blocks;
  const int row = id % rows;
  const int n = id / rows;
  const int valid = channels - channel;
  const int stored = min(16, (channels + 3) / 4 * 4 - channel);

  const float16 bias_lanes = vload16(0, bias + channel);
  ACC16 sum[PIXELS];
#pragma unroll
  for (int p = 0; p < PIXELS; ++p) sum[p] = BEGIN_SUM(ACC16, bias_lanes);

  const int w_stride = (channels + 15) / 16 * 16;
  global const TYPE_0* const x_rows = x + x_offset + n * x_batch_stride + channel;
  const int in_row0 = (first_row + row) * stride_h - pad_top;
  const int in_column0 = first_pixel * stride_w - pad_left;
  if (stored == 16)
    add_taps(sum, x_rows, w + channel, 16, in_row0, in_column0, in_h, in_w, kernel_h, kernel_w,
             stride_w, dilation_h, dilation_w, x_row_begin, x_row_stride, x_pixel_stride,
             w_stride GRID_OF(TYPE_0));
  else
    add_taps(sum, x_rows, w + channel, stored, in_row0, in_column0, in_h, in_w, kernel_h, kernel_w,
             stride_w, dilation_h, dilation_w, x_row_begin, x_row_stride, x_pixel_stride,
             w_stride GRID_OF(TYPE_0));

  const int y_base = row * y_row_stride + first_pixel * y_pixel_stride + channel;
  global TYPE_Y* const y_pixels = y + y_offset + n * y_batch_stride + y_base;
#if HAS_RESIDUAL
  global const TYPE_3* const residual_pixels =
      residual + residual_offset + n * residual_batch_stride + y_base;
#endif
#pragma unroll
  for (int p = 0; p < PIXELS; ++p) {
    if (first_pixel + p < out_w) {
      float16 v = END_SUM(convert_float16(sum[p]), bias_lanes);
#if HAS_RESIDUAL
      v += LOAD_LANES(TYPE_3, residual_pixels + p * y_pixel_stride, stored);
#endif
      v = ACTIVATE(v, alpha, beta);
      if (valid < 16) v = keep_lanes(v, valid);
      STORE_LANES(TYPE_Y, v, y_pixels + p * y_pixel_stride, stored);
    }
  }
}
#endif
