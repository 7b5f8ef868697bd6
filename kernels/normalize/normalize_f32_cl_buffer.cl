// y = activation((x - mean) / sqrt(variance + epsilon) * scale + bias), for Plain or Nhwc buffers.
//
// Defines: IS_RMS; HAS_SCALE, HAS_BIAS; ACTIVATION; KEPT, REDUCED, axes of either kind besides the
// lanes, the innermost axis; COLUMNS, neighbouring means of a group (1: the lanes are reduced);
// WIDTH, elements of a piece, 1 or 4, neighbours in memory; HELD, pieces that an item keeps between
// its passes, 0: it reads them in each.
// 2 ^ row_bits items of a group share a mean. With COLUMNS they are so far apart, and a group has
// one block of means; else they are neighbours, and a group has as many means as it has room for.
// An axis is its extent and its strides in x (and y), scale and bias; axis 2 is the innermost.
// Lanes [first_lane, lanes) come on top of both lists (COLUMNS 1: from 0 on); `pad` elements behind
// them become zero.
static inline int4 offsets_of(int at, const int axes, int4 axis0, int4 axis1, int4 axis2) {
  int4 offsets = 0;
  if (axes > 1) {
    offsets += at % axis2.x * axis2;
    at /= axis2.x;
  }
  if (axes > 2) {
    offsets += at % axis1.x * axis1;
    at /= axis1.x;
  }
  return axes == 0 ? offsets : offsets + at * (axes > 2 ? axis0 : axes > 1 ? axis1 : axis2);
}

#define SUM float
#define ROW_STEP COLUMNS
#include "kernels/common/launch/local_item.cl"
#include "kernels/normalize/normalize_sums.cl"

#define AXIS(a) (int4)(a##_extent, a##_x, a##_scale, a##_bias)
#define KEPT_OFFSETS(i) offsets_of(i, KEPT, AXIS(kept0), AXIS(kept1), AXIS(kept2))
#define REDUCED_OFFSETS(i) offsets_of(i, REDUCED, AXIS(reduced0), AXIS(reduced1), AXIS(reduced2))

#if WIDTH == 4
#define VALUE float4
#define LOAD(type, p) LOAD_QUAD(type, p)
#define STORE(type, v, p) STORE_QUAD(type, v, p)
#define JOIN(v) ((v).x + (v).y + (v).z + (v).w)
#else
#define VALUE float
#define LOAD(type, p) LOAD_ONE(type, p, 0)
#define STORE(type, v, p) STORE_ONE(type, v, p, 0)
#define JOIN(v) (v)
#endif

// Goes through the item's pieces: i is the number of a piece among those of the mean. What is held
// is computed without branches, side by side; OF_MEAN(v) is zero behind the last piece.
#if HELD
#define EACH_PIECE _Pragma("unroll") for (int k = 0, i = row; k < HELD; ++k, i += rows)
#define PIECE held[k]
#define OF_MEAN(v) (i < count ? (v) : (VALUE)(0.0f))
#else
#define EACH_PIECE for (int i = row; i < count; i += rows)
#define PIECE LOAD(TYPE_0, x + OFFSETS_OF(i).s1)
#define OF_MEAN(v) (v)
#endif

kernel void normalize_f32_cl_buffer(global const TYPE_0* restrict x,
#if HAS_SCALE
                                    global const TYPE_1* restrict scale,
#endif
#if HAS_BIAS
                                    global const TYPE_BIAS* restrict bias,
#endif
                                    global TYPE_Y* restrict y PARAMS(NormalizeBuffer)) {
  local float partial[GROUP_ITEMS];
  const int item = (int)local_item();
  const int rows = 1 << row_bits;
  // In offsets and strides the first number is the axis' extent, which means nothing in a sum.
  const int4 lane_step = (int4)(0, 1, lane_scale, lane_bias);
#if COLUMNS > 1
  const int row = item / COLUMNS;
  const int block = get_group_id(0);
  const int lane = first_lane + block % lane_blocks * COLUMNS + item % COLUMNS;
  const int4 begin = KEPT_OFFSETS(block / lane_blocks) + lane * lane_step;
  // Items behind the last lane have no elements; they still meet the others at the barriers.
  const int count = lane < lanes ? reduced_count : 0;
#define LANE_OF(i) lane
#define OFFSETS_OF(i) (begin + REDUCED_OFFSETS(i))
#else
  const int row = item & (rows - 1);
  const int mean_id = get_global_id(0) >> row_bits;
  const int4 begin = KEPT_OFFSETS(min(mean_id, means - 1));
  const int pieces = lanes / WIDTH;  // a line of lanes has so many
  // Items behind the last mean have no pieces; they still meet the others at the barriers.
  const int count = mean_id < means ? reduced_count * pieces : 0;
#if REDUCED
#define LANE_OF(i) ((i) % pieces * WIDTH)
#define OFFSETS_OF(i) (begin + REDUCED_OFFSETS((i) / pieces) + LANE_OF(i) * lane_step)
#else
#define LANE_OF(i) ((i) * WIDTH)
#define OFFSETS_OF(i) (begin + LANE_OF(i) * lane_step)
#endif
#endif

#if HELD
  VALUE held[HELD];
  const int last = reduced_count * pieces - 1;
  EACH_PIECE held[k] = LOAD(TYPE_0, x + OFFSETS_OF(min(i, last)).s1);
#endif
  float mean = 0.0f;
#if !IS_RMS
  float sum = 0.0f;
  EACH_PIECE {
    const VALUE v = OF_MEAN(PIECE);
    sum += JOIN(v);
  }
  mean = sum_of_rows(sum, partial + item, row, rows) / element_count;
#endif
  float squares = 0.0f;
  EACH_PIECE {
    const VALUE distance = OF_MEAN(PIECE - mean);
    squares += JOIN(distance * distance);
  }
  const float variance = sum_of_rows(squares, partial + item, row, rows) / element_count;
  const float factor = 1.0f / sqrt(variance + epsilon);
  EACH_PIECE {
    if (i >= count) break;
    const int4 at = OFFSETS_OF(i);
    VALUE v = (PIECE - mean) * factor;
#if HAS_SCALE
    v *= LOAD(TYPE_1, scale + at.s2);
#endif
#if HAS_BIAS
    v += LOAD(TYPE_BIAS, bias + at.s3);
#endif
    v = ACTIVATE(v, alpha, beta);
    STORE(TYPE_Y, v, y + at.s1);
#if WIDTH == 1
    if (LANE_OF(i) == lanes - 1)
      for (int lane = 1; lane <= pad; ++lane) STORE_ONE(TYPE_Y, 0.0f, y, at.s1 + lane);
#endif
  }
}
