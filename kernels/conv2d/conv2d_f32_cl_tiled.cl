// 2-D convolution, Nhwc buffers, as a matrix product in tiles of local memory: A has a row for each
// output pixel of the part and a column for each tap and input channel, and is never stored; B is
// the packed weights. One group; input channels are rounded up to 4 (pad lanes of x are zero).
//
//   x, w, bias, residual, y  as in conv2d_f32_cl_buffer.cl, each at a multiple of 16 bytes (8 of
//                            halves)
//
// Per step a work-item multiplies ITEM_M * ITEM_N * SLICE_K for A_LOADS + B_LOADS fetches of 16
// bytes: 171 a fetch in the largest tile, {64, 128, 16, 8, 8, 1}, 64 in {32, 32, 32, 4, 4, 4}.
// Registers: those of gemm_tile.cl, 104 and 32 floats, and three numbers for each of the A_LOADS.
//
// Defines: those of gemm_tile.cl; HAS_PAD_CHANNELS, input channels are no multiple of 4;
// HAS_RESIDUAL, ACTIVATION.
#include "kernels/common/gemm/gemm_tile.cl"

// Returns the row of a panel's weights for depth k of A, -1 for a pad lane.
static inline int weight_row(int k, int in_c, int padded_in_c) {
#if HAS_PAD_CHANNELS
  return k % padded_in_c < in_c ? k / padded_in_c * in_c + k % padded_in_c : -1;
#else
  return k;
#endif
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void conv2d_f32_cl_tiled(
    global const TYPE_0* restrict x, global const TYPE_1* restrict w,
    global const float* restrict bias,
#if HAS_RESIDUAL
    global const TYPE_3* residual,
#endif
    global TYPE_Y* y PARAMS(Conv2dTiled)) {
  local float memory[LOCAL_FLOATS] __attribute__((aligned(16)));
  const TilePlace place = tile_place();
  const int first_panel = panel_begin + (int)get_group_id(0) % column_tiles * (TILE_N / 16);
  const int first_pixel = (int)get_group_id(0) / column_tiles * TILE_M;
  const int padded_in_c = (in_c + 3) / 4 * 4;

  // This work-item brings these pixels: they have the row and column of the first tap, and the
  // offset of the image.
  int row[A_LOADS];
  int column[A_LOADS];
  int offset[A_LOADS];
#pragma unroll
  for (int i = 0; i < A_LOADS; ++i) {
    const int pixel = min(first_pixel + a_load_m(i), pixels - 1);
    const int in_image = pixel % image_pixels;
    row[i] = (first_row + in_image / out_w) * stride_h - pad_top;
    column[i] = in_image % out_w * stride_w - pad_left;
    offset[i] = x_offset + pixel / image_pixels * x_batch_stride;
  }
  // It is at this place in the depth: tap (tap_row, tap_column), channel.
  int tap_row = 0;
  int tap_column = 0;
  int channel = a_load_k();
  const int panel_elements = kernel_h * kernel_w * in_c * 16;

#define LOAD(step)                                                                                \
  while (channel >= padded_in_c) {                                                                \
    channel -= padded_in_c;                                                                       \
    if (++tap_column == kernel_w) {                                                               \
      tap_column = 0;                                                                             \
      ++tap_row;                                                                                  \
    }                                                                                             \
  }                                                                                               \
  _Pragma("unroll") for (int i = 0; i < A_LOADS; ++i) {                                           \
    const int in_row = row[i] + tap_row * dilation_h;                                             \
    const int in_column = column[i] + tap_column * dilation_w;                                    \
    a_quads[i] = (ACC4)(0);                                                                       \
    if (tap_row < kernel_h && in_row >= 0 && in_row < in_h && in_column >= 0 && in_column < in_w) \
      a_quads[i] = FACTOR4(TYPE_0, x + offset[i] + (in_row - x_row_begin) * x_row_stride +        \
                                       in_column * x_pixel_stride + channel);                     \
  }                                                                                               \
  channel += TILE_K;                                                                              \
  _Pragma("unroll") for (int i = 0; i < B_LOADS; ++i) {                                           \
    const int panel = min(first_panel + b_load_panel(i), panel_end - 1);                          \
    const int k = weight_row((step)*TILE_K + b_load_k(i), in_c, padded_in_c);                     \
    b_quads[i] = (ACC4)(0);                                                                       \
    if (k >= 0 && k * 16 < panel_elements)                                                        \
      b_quads[i] = FACTOR4(TYPE_1, w + panel * panel_elements + k * 16 + b_load_lane());          \
  }

  MULTIPLY_TILES(memory, kernel_h * kernel_w * padded_in_c, place, sums, LOAD)

#pragma unroll
  for (int j = 0; j < QUADS_N; ++j) {
    const int first_channel = first_panel * 16 + sum_column(place, j);
    if (first_channel >= channel_end) continue;
    const float4 start = *(global const float4*)(bias + first_channel);
#pragma unroll
    for (int i = 0; i < ITEM_M; ++i) {
      const int pixel = first_pixel + sum_row(place, i);
      if (pixel >= pixels) continue;
      const int n = pixel / image_pixels;
      const int at = (pixel - n * image_pixels) * y_pixel_stride + first_channel;
      float4 v = sums[i * QUADS_N + j] + start;
#if HAS_RESIDUAL
      v += LOAD_QUAD(TYPE_3, residual + residual_offset + n * residual_batch_stride + at);
#endif
      v = keep_lanes4(ACTIVATE(v, alpha, beta), out_c - first_channel);
      STORE_QUAD(TYPE_Y, v, y + y_offset + n * y_batch_stride + at);
    }
  }
}
