// 2-D convolution, Nhwc buffers. One work-item computes PIXELS neighbouring pixels of one output
// row times PANELS panels of 16 output channels, all of it in float16 accumulators.
//
//   x         [batch, rows held, in_w, round_up(c, 4)], first row held: x_row_begin
//   w         [panel][kernel_h][kernel_w][group_in_c][16], ceil(group_out_c / 16) panels a group
//   bias      [round_up(out_c, 16)]
//   residual  laid out like y, may have another window; only with HAS_RESIDUAL
//   y         [batch, rows held, out_w, round_up(out_c, 4)]; pad lanes written as zero
//
// Defines: PIXELS, PANELS (divides the panels of the part; 1 with more than one group),
// FEW_CHANNELS (input channels of a group where they are so few that their loop is unrolled, else
// 0), HAS_RESIDUAL, ACTIVATION.
// Order of the work: `inner_blocks` blocks of PANELS panels, then the pixels of all rows, then the
// next panels, so that the weights in use stay in a cache of the size the launch assumes while x
// passes by.
//
// Per input channel: PANELS * PIXELS * 16 multiply-adds for PANELS loads of 64 bytes and PIXELS of
// 4: 14 a load with 7 pixels and 1 panel, 25 with 2 panels. conv2d_buffer_registers() counts the
// registers.
// Padding costs nothing in the innermost loop: a tap that reaches outside for some pixels runs on
// all of them at a clamped address, and those pixels take back a copy of their sums afterwards.
// (Not a product with zero: what lies at the clamped address may be infinite.)
#if FEW_CHANNELS && HALF_ARITHMETIC != 2
#define EACH_CHANNEL(c, count) _Pragma("unroll") for (int c = 0; c < FEW_CHANNELS; ++c)
#else
#define EACH_CHANNEL(c, count) for (int c = 0; c < count; ++c)
#endif
// Sums of a panel's pixels are neighbours.
#define ITEM_SUMS (PANELS * PIXELS)

kernel void conv2d_f32_cl_buffer(
    global const TYPE_0* restrict x, global const TYPE_1* restrict w,
    global const float* restrict bias,
#if HAS_RESIDUAL
    global const TYPE_3* residual,
#endif
    global TYPE_Y* y PARAMS(Conv2dBuffer)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  int panel = panel_begin + id % inner_blocks * PANELS;
  id /= inner_blocks;
  const int first_pixel = id % blocks * PIXELS;
  id /= blocks;
  const int row = id % rows;
  id /= rows;
  const int n = id % batch;
  panel += id / batch * inner_blocks * PANELS;
  if (panel >= panel_end) return;

  const int group_panels = (group_out_c + 15) / 16;
  const int group = panel / group_panels;
  const int group_channel = panel % group_panels * 16;
  const int channel = group * group_out_c + group_channel;
  const int panel_elements = kernel_h * kernel_w * group_in_c * 16;

  SUMS(16, sum, ITEM_SUMS, 1)

// Adds the products of `count` channels from w_tap on; OF_X(p, c) is channel c of pixel p.
#define ADD_PRODUCTS(OF_X, count)                                                          \
  EACH_CHANNEL(c, count) {                                                                 \
    _Pragma("unroll") for (int b = 0; b < PANELS; ++b) {                                   \
      const ACC16 weights = FACTOR_LANES(TYPE_1, w_tap + b * panel_elements + c * 16, 16); \
      _Pragma("unroll") for (int p = 0; p < PIXELS; ++p)                                   \
        sum[b * PIXELS + p] += (ACC16)(OF_X(p, c)) * weights;                              \
    }                                                                                      \
  }
  const int in_row0 = (first_row + row) * stride_h - pad_top;
  const int in_column0 = first_pixel * stride_w - pad_left;
  const int step = stride_w * x_pixel_stride;
  global const TYPE_0* const x_group = x + x_offset + n * x_batch_stride + group * group_in_c;
  global const TYPE_1* w_tap = w + panel * kernel_h * kernel_w * group_in_c * 16;

  for (int i = 0; i < kernel_h; ++i) {
    const int in_row = in_row0 + i * dilation_h;
    if (in_row < 0 || in_row >= in_h) {
      w_tap += kernel_w * group_in_c * 16;
      continue;
    }
    global const TYPE_0* const x_row = x_group + (in_row - x_row_begin) * x_row_stride;
    for (int j = 0; j < kernel_w; ++j) {
      const int column = in_column0 + j * dilation_w;
      global const TYPE_0* x_tap = x_row;
      EACH_RUN(group_in_c, run) {
        if (column >= 0 && column + (PIXELS - 1) * stride_w < in_w) {
          global const TYPE_0* const x_pixel = x_tap + column * x_pixel_stride;
#define OF_PIXEL(p, c) FACTOR(TYPE_0, x_pixel, p * step + c)
          ADD_PRODUCTS(OF_PIXEL, run)
        } else {
          ACC16 before[ITEM_SUMS];
          int offset[PIXELS];
#pragma unroll
          for (int s = 0; s < ITEM_SUMS; ++s) before[s] = sum[s];
#pragma unroll
          for (int p = 0; p < PIXELS; ++p)
            offset[p] = clamp(column + p * stride_w, 0, in_w - 1) * x_pixel_stride;
#define OF_CLAMPED(p, c) FACTOR(TYPE_0, x_tap, offset[p] + c)
          ADD_PRODUCTS(OF_CLAMPED, run)
#pragma unroll
          for (int p = 0; p < PIXELS; ++p) {
            const int at = column + p * stride_w;
            if (at >= 0 && at < in_w) continue;
#pragma unroll
            for (int b = 0; b < PANELS; ++b) sum[b * PIXELS + p] = before[b * PIXELS + p];
          }
        }
        x_tap += run;
        w_tap += run * 16;
        END_RUN(16, sum, ITEM_SUMS, 1, run)
      }
    }
  }

  const int y_base = row * y_row_stride + first_pixel * y_pixel_stride + channel;
  global TYPE_Y* const y_pixels = y + y_offset + n * y_batch_stride + y_base;
#if HAS_RESIDUAL
  global const TYPE_3* const residual_pixels =
      residual + residual_offset + n * residual_batch_stride + y_base;
#endif
#pragma unroll
  for (int b = 0; b < PANELS; ++b) {
    const int valid = min(16, group_out_c - group_channel - b * 16);
    const bool is_last = channel + b * 16 + valid == out_c;
    const int stored = is_last ? (out_c + 3) / 4 * 4 - channel - b * 16 : valid;
    const float16 bias_lanes = load_lanes(bias + channel + b * 16, valid);
#pragma unroll
    for (int p = 0; p < PIXELS; ++p) {
      if (first_pixel + p >= out_w) break;
      const int at = p * y_pixel_stride + b * 16;
      float16 v = TOTAL(16, sum, b * PIXELS + p) + bias_lanes;
#if HAS_RESIDUAL
      v += LOAD_LANES(TYPE_3, residual_pixels + at, stored);
#endif
#if PIXELS == 1
      // Only GPUs whose work-items have few registers take one pixel. A costly function of all 16
      // lanes side by side would spill them.
#define ACTIVATE_PAIR(lanes) v.lanes = ACTIVATE(v.lanes, alpha, beta);
      ACTIVATE_PAIR(s01)
      ACTIVATE_PAIR(s23)
      ACTIVATE_PAIR(s45)
      ACTIVATE_PAIR(s67)
      ACTIVATE_PAIR(s89)
      ACTIVATE_PAIR(sab)
      ACTIVATE_PAIR(scd)
      ACTIVATE_PAIR(sef)
#else
      v = ACTIVATE(v, alpha, beta);
#endif
      if (valid < 16) v = keep_lanes(v, valid);
      STORE_LANES(TYPE_Y, v, y_pixels + at, stored);
      // A ragged last group and the pad lanes behind it may be more than a panel: 15 + 3.
      for (int lane = 16; lane < stored; ++lane) STORE_ONE(TYPE_Y, 0.0f, y_pixels, at + lane);
    }
  }
}
