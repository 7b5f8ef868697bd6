// 2-D convolution, RGBA images; for phones, whose texture units fetch texels beside the loads.
//
//   x, residual, y  images, x = w * ceil(c / 4) + c / 4, y = n * rows held + row - first row held
//
// conv2d_texels.cl says the rest.
#define CONV2D_SYMBOL conv2d_f32_cl_image
#define READ_ONLY(type) read_only image2d_t
#define WRITE_ONLY(type) write_only image2d_t
#define TEXEL_AT(at, row, pitch) (at)
#define READ_TEXEL(type, image, at, row) read_imagef(image, (int2)(at, row))
#define READ_OR_ZERO(type, image, at, row) read_imagef(image, kTexel, (int2)(at, row))
#define WRITE_TEXEL(type, image, at, row, v) write_imagef(image, (int2)(at, row), v)
#include "kernels/conv2d/conv2d_texels.cl"
