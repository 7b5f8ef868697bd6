// Computes y = activation(a op b) element by element, for Plain or Nhwc buffers.
//
// Defines: KIND, a Binary member; ACTIVATION; A_CASE, B_CASE, how the operand lies under y: 0 same
// dims and layout, 1 one element, 2 one element per channel, 3 one pixel per batch.
// In runs; offsets and strides are in elements; an operand of cases 2 and 3 has the offset of the
// part's first channel.
#define LOAD_0(type, p) LOAD_RUN(type, p + RUN_AT(p), stored)
#define LOAD_1(type, p) ((CHUNK_FLOATS)(LOAD_ONE(type, p, 0)))
#define LOAD_2(type, p) LOAD_RUN(type, p + p##_offset + lane, min(LANES, valid))
#define LOAD_3(type, p) \
  LOAD_RUN(type, p + p##_offset + n * p##_batch_stride + lane, min(LANES, valid))
#define LOAD_PASTE(operand_case) LOAD_##operand_case
#define LOAD_OF(operand_case) LOAD_PASTE(operand_case)

kernel void binary_f32_cl_buffer(global const TYPE_0* restrict a, global const TYPE_1* restrict b,
                                 global TYPE_Y* restrict y PARAMS(BinaryBuffer)) {
  START_RUN
  const CHUNK_FLOATS left = LOAD_OF(A_CASE)(TYPE_0, a);
  const CHUNK_FLOATS right = LOAD_OF(B_CASE)(TYPE_1, b);
  CHUNK_FLOATS v = COMBINE(left, right);
  v = ACTIVATE(v, alpha, beta);
  if (valid < LANES) v = KEEP_CHUNK(v, valid);
  STORE_RUN(TYPE_Y, v, y + RUN_AT(y), stored);
}
