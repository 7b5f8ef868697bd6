// Computes y = activation(a op b) element by element, y an RGBA image.
//
// Defines: KIND, a Binary member; ACTIVATION; A_CASE, B_CASE, how the operand lies under y: 0 an
// image of the same dims, 1 a buffer with one element, 2 a buffer with one element per channel, 3
// an image with one pixel per batch. A work-item takes a texel of the part.
#if A_CASE == 0 || A_CASE == 3
#define A_TYPE read_only image2d_t
#else
#define A_TYPE global const TYPE_0* restrict
#endif
#if B_CASE == 0 || B_CASE == 3
#define B_TYPE read_only image2d_t
#else
#define B_TYPE global const TYPE_1* restrict
#endif

// The buffer of case 2 ends with the last channel, which need not fill a texel.
#define LOAD_0(type, p) READ_MAP(type, p, TEXEL_OF(p))
#define LOAD_1(type, p) ((float4)(LOAD_ONE(type, p, 0)))
#define LOAD_2(type, p) LOAD_STRIDED4(type, p, texel * 4, channels - 1, 1)
#define LOAD_3(type, p) READ_MAP(type, p, (int2)(texel, n * p##_rows_held))
#define LOAD_PASTE(operand_case) LOAD_##operand_case
#define LOAD_OF(operand_case) LOAD_PASTE(operand_case)

kernel void binary_f32_cl_image(A_TYPE a, B_TYPE b, write_only image2d_t y PARAMS(BinaryImage)) {
  START_TEXEL
  const float4 left = LOAD_OF(A_CASE)(TYPE_0, a);
  const float4 right = LOAD_OF(B_CASE)(TYPE_1, b);
  float4 v = COMBINE(left, right);
  v = ACTIVATE(v, alpha, beta);
  WRITE_MAP(TYPE_Y, y, TEXEL_OF(y), keep_lanes4(v, channels - texel * 4));
}
