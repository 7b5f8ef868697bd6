// 2-D convolution, RGBA images; for phones, whose texture units fetch texels beside the loads.
// conv2d_texels.cl says how.
#define CONV2D_SYMBOL conv2d_f32_cl_image
#include "kernels/common/launch/texel_image.cl"
#include "kernels/conv2d/conv2d_texels.cl"
