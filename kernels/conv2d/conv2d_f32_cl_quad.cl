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
#define TEXEL_AT(at, row, pitch) (((row) * (pitch) + (at)) * 4)
#define READ_TEXEL(type, p, at, row) LOAD_QUAD(type, (p) + (uint)(at))
// Loads the first texel where there is none, which may be infinite, and drops it.
#define READ_OR_ZERO(type, p, at, row) \
  select(LOAD_QUAD(type, (p) + (uint)max(at, 0)), (float4)(0.0f), (int4)(at))
#define WRITE_TEXEL(type, p, at, row, v) STORE_QUAD(type, v, (p) + (uint)(at))
#include "kernels/conv2d/conv2d_texels.cl"
