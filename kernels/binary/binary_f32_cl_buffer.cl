// y = activation(a op b) element by element, for Plain or Nhwc buffers.
//
// Defines: KIND, a Binary member; ACTIVATION; A_CASE, B_CASE, how the operand lies under y: 0 same
// dims and layout, 1 one element, 2 one element per channel.
// One work-item per chunk of 16 lanes: `batch` times `pixels` runs of stored_count lanes, of which
// those from valid_count on are pad lanes and become zero. Offsets and strides are in elements; a
// per-channel operand has the offset of the part's first channel.
#define LOAD_0(p, offset, batch_stride) load_lanes(p + offset + n * batch_stride + at, stored)
#define LOAD_1(p, offset, batch_stride) ((float16)(p[0]))
#define LOAD_2(p, offset, batch_stride) load_lanes(p + offset + lane, valid)
#define LOAD_PASTE(operand_case) LOAD_##operand_case
#define LOAD_OF(operand_case) LOAD_PASTE(operand_case)

kernel void binary_f32_cl_buffer(global const float* restrict a, global const float* restrict b,
                                 global float* restrict y,  //
                                 int item_count, int chunks, int pixels, int pixel_stride,
                                 int stored_count, int valid_count,  //
                                 int a_offset, int a_batch_stride,   //
                                 int b_offset, int b_batch_stride,   //
                                 int y_offset, int y_batch_stride,   //
                                 float alpha, float beta) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int lane = id % chunks * 16;
  id /= chunks;
  const int at = id % pixels * pixel_stride + lane;
  const int n = id / pixels;
  const int stored = min(16, stored_count - lane);
  const int valid = min(16, valid_count - lane);
  const float16 left = LOAD_OF(A_CASE)(a, a_offset, a_batch_stride);
  const float16 right = LOAD_OF(B_CASE)(b, b_offset, b_batch_stride);
  float16 v = COMBINE(left, right);
  v = ACTIVATE(v, alpha, beta);
  if (valid < 16) v = keep_lanes(v, valid);
  store_lanes(v, y + y_offset + n * y_batch_stride + at, stored);
}
