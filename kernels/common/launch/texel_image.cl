// Operands of kernels on texels of 4 channels that are RGBA images: x = w * ceil(c / 4) + c / 4,
// y = n * rows held + row - first row held. texel_buffer.cl has the same names for buffers.
//
// READ_ONLY, WRITE_ONLY: an operand's type; TEXEL_AT turns texel `at` of row `row`, with `pitch`
// texels in a row, into the place that the others take, so that TEXEL_AT(1, 0, 0) is the step to
// the next texel; READ_TEXEL; READ_FACTOR, which is an ACC4, and FACTOR_OR_ZERO, which is zero
// where the place is negative; WRITE_TEXEL. All take the type of the operand's elements.
// A read without a sampler takes the place as it is, but is defined inside the image only; the
// sampler gives zero outside.
#define READ_ONLY(type) read_only image2d_t
#define WRITE_ONLY(type) write_only image2d_t
#define TEXEL_AT(at, row, pitch) (at)
#define READ_TEXEL(type, image, at, row) TEXEL_NUMBERS(type, read_imagef(image, (int2)(at, row)))
#if HALF_ARITHMETIC
#define READ_ACC4 read_imageh
#else
#define READ_ACC4 read_imagef
#endif
// Texels of bytes are steps over 255. Define: FROM_ZERO, the zero point is the lowest byte, so that
// these are factors, as in floats.
#undef FACTOR_STEPS
#define FACTOR_STEPS 255.0f
#define FACTORS_IN_float(type, texel) (texel)
#define FACTORS_IN_half(type, texel) (texel)
#if FROM_ZERO
#define FACTORS_IN_byte(type, texel) (texel)
#define FACTOR_OR_ZERO_byte FACTOR_OR_ZERO_float
#else
#define FACTORS_IN_byte(type, texel) ((texel) - (ACC)(PASTE(type, zero) * (1.0f / FACTOR_STEPS)))
#define FACTOR_OR_ZERO_byte(type, image, at, row)                                             \
  select(FACTORS_IN_byte(type, READ_ACC4(image, kTexel, (int2)(at, row))), (ACC4)(0), SIGN4(at))
#endif
#define READ_FACTOR(type, image, at, row) \
  PASTE(FACTORS_IN, STORED(type))(type, READ_ACC4(image, (int2)(at, row)))
#define FACTOR_OR_ZERO_float(type, image, at, row) READ_ACC4(image, kTexel, (int2)(at, row))
#define FACTOR_OR_ZERO_half FACTOR_OR_ZERO_float
#define FACTOR_OR_ZERO(type, image, at, row) \
  PASTE(FACTOR_OR_ZERO, STORED(type))(type, image, at, row)
#define WRITE_TEXEL(type, image, at, row, v) \
  write_imagef(image, (int2)(at, row), TEXEL_FOR(type, v))
