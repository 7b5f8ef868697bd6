// 2-D convolution, Nhwc buffers, 4 channels at a time; for phones without fast images, whose
// registers do not hold the sums of conv2d_f32_cl_buffer.
//
//   x, residual, y  [batch, rows held, width, round_up(c, 4)], each at a multiple of 16 bytes (8 of
//                   halves)
//
// conv2d_texels.cl says the rest.
#define CONV2D_SYMBOL conv2d_f32_cl_quad
#define READ_ONLY(type) global const type*
#define WRITE_ONLY(type) global type*
#define READ_TEXEL(type, p, at, row, pitch) \
  ((at) < 0 ? (float4)(0.0f) : LOAD_QUAD(type, (p) + ((row) * (pitch) + (at)) * 4))
#define WRITE_TEXEL(type, p, at, row, pitch, v) STORE_QUAD(type, v, (p) + ((row) * (pitch) + (at)) * 4)
#include "kernels/conv2d/conv2d_texels.cl"
