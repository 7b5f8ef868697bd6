// 2-D convolution, Nhwc buffers, 4 channels at a time; for phones without fast images, whose
// registers do not hold the sums of conv2d_f32_cl_buffer.
//
//   x, residual, y  [batch, rows held, width, round_up(c, 4)], each at a multiple of 16 bytes
//
// conv2d_texels.cl says the rest.
#define CONV2D_SYMBOL conv2d_f32_cl_quad
#define READ_ONLY global const float4*
#define WRITE_ONLY global float4*
#define READ_TEXEL(quads, at, row, pitch) \
  ((at) < 0 ? (float4)(0.0f) : (quads)[(row) * (pitch) + (at)])
#define WRITE_TEXEL(quads, at, row, pitch, v) (quads)[(row) * (pitch) + (at)] = v
#include "kernels/conv2d/conv2d_texels.cl"
