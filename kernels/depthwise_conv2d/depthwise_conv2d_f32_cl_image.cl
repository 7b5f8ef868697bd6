// Computes a depthwise 2-D convolution, RGBA images; depthwise_texels.cl says how.
#define DEPTHWISE_SYMBOL depthwise_conv2d_f32_cl_image
#include "kernels/common/launch/texel_image.cl"
#include "kernels/depthwise_conv2d/depthwise_texels.cl"
