// y = activation((x - mean) / sqrt(variance + epsilon) * scale + bias), for Plain or Nhwc buffers.
//
// Defines: IS_RMS; HAS_SCALE, HAS_BIAS; ACTIVATION; COLUMNS, means of a group, neighbours in memory (1: the
// innermost axis, the lanes, is reduced); ROWS, work-items per mean, a power of two. One group per
// block of means. An axis is its extent and its strides in x (and y), scale and bias; axis 2 is the
// innermost. Lanes [first_lane, lanes) come on top of both lists (COLUMNS 1: from 0 on); `pad`
// elements behind them become zero.
static inline int4 offsets_of(int at, int4 axis0, int4 axis1, int4 axis2) {
  int4 offsets = at % axis2.x * axis2;
  at /= axis2.x;
  offsets += at % axis1.x * axis1;
  at /= axis1.x;
  return offsets + at * axis0;
}

#define SUM float
#include "kernels/normalize/normalize_sums.cl"

#define AXIS(a) (int4)(a##_extent, a##_x, a##_scale, a##_bias)

kernel void normalize_f32_cl_buffer(global const TYPE_0* restrict x,
#if HAS_SCALE
                                    global const float* restrict scale,
#endif
#if HAS_BIAS
                                    global const float* restrict bias,
#endif
                                    global TYPE_Y* restrict y PARAMS(NormalizeBuffer)) {
  local float partial[ROWS * COLUMNS];
  const int row = (int)get_local_id(0) / COLUMNS;
  const int group_id = get_group_id(0);
  // In offsets and strides the first number is the axis' extent, which means nothing in a sum.
  const int4 lane_step = (int4)(0, 1, lane_scale, lane_bias);
  int4 begin = offsets_of(group_id / lane_blocks, AXIS(kept0), AXIS(kept1), AXIS(kept2));
#if COLUMNS > 1
  const int lane =
      first_lane + group_id % lane_blocks * COLUMNS + (int)get_local_id(0) % COLUMNS;
  begin += lane * lane_step;
  // Items behind the last lane have no elements; they still meet the others at the barriers.
  const int count = lane < lanes ? reduced_count : 0;
#define LANE_OF(i) lane
#define OFFSETS_OF(i) (begin + offsets_of(i, AXIS(reduced0), AXIS(reduced1), AXIS(reduced2)))
#else
  const int count = reduced_count * lanes;
#define LANE_OF(i) ((i) % lanes)
#define OFFSETS_OF(i) \
  (begin + offsets_of((i) / lanes, AXIS(reduced0), AXIS(reduced1), AXIS(reduced2)) + \
   (i) % lanes * lane_step)
#endif

  float mean = 0.0f;
#if !IS_RMS
  float sum = 0.0f;
  for (int i = row; i < count; i += ROWS) sum += LOAD_ONE(TYPE_0, x, OFFSETS_OF(i).s1);
  mean = sum_of_rows(sum, partial) / element_count;
#endif
  float squares = 0.0f;
  for (int i = row; i < count; i += ROWS) {
    const float distance = LOAD_ONE(TYPE_0, x, OFFSETS_OF(i).s1) - mean;
    squares += distance * distance;
  }
  const float variance = sum_of_rows(squares, partial) / element_count;
  const float factor = 1.0f / sqrt(variance + epsilon);
  for (int i = row; i < count; i += ROWS) {
    const int4 at = OFFSETS_OF(i);
    float v = (LOAD_ONE(TYPE_0, x, at.s1) - mean) * factor;
#if HAS_SCALE
    v *= scale[at.s2];
#endif
#if HAS_BIAS
    v += bias[at.s3];
#endif
    v = ACTIVATE(v, alpha, beta);
    STORE_ONE(TYPE_Y, v, y, at.s1);
    if (LANE_OF(i) == lanes - 1)
      for (int k = 1; k <= pad; ++k) STORE_ONE(TYPE_Y, 0.0f, y, at.s1 + k);
  }
}
