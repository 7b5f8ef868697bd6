// Operands of kernels on texels of 4 channels that are Nhwc buffers, each at a multiple of 16 bytes
// (8 of halves). texel_image.cl says what the names mean; a place is the texel's first element.
#define READ_ONLY(type) global const type*
#define WRITE_ONLY(type) global type*
#define TEXEL_AT(at, row, pitch) (((row) * (pitch) + (at)) * 4)
#define READ_TEXEL(type, p, at, row) LOAD_QUAD(type, ELEMENT_AT(type, p, at))
#define READ_FACTOR(type, p, at, row) FACTOR4(type, ELEMENT_AT(type, p, at))
// Where there is none it loads the buffer's first texel, which may be infinite, and drops it.
#define FACTOR_OR_ZERO(type, p, at, row) \
  select(READ_FACTOR(type, p, max(at, 0), row), (ACC4)(0), SIGN4(at))
#define WRITE_TEXEL(type, p, at, row, v) STORE_QUAD(type, v, ELEMENT_AT(type, p, at))
