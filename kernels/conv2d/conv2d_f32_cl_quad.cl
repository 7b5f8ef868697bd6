// 2-D convolution, Nhwc buffers [batch, rows held, width, round_up(c, 4)], in texels of 4 channels;
// for phones without fast images, whose registers do not hold the sums of conv2d_f32_cl_buffer.
// conv2d_texels.cl says how.
#define CONV2D_SYMBOL conv2d_f32_cl_quad
#include "kernels/common/launch/texel_buffer.cl"
#include "kernels/conv2d/conv2d_texels.cl"
