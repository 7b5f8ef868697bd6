// Attends with 8 * ROWS lines of a head of keys in a work-group, KEYS keys a step, Plain buffers.
//
//   q, k, v, y  each at a multiple of 16 bytes (8 of halves), rows of whole quads
//
// Defines: HAS_BIAS; ZERO_IF_HIDDEN, a line without any score but -infinity gives zeros, in place
// of NaN; ROWS and ITEM_KEYS, lines and keys of a work-item; ITEMS, the items that share a line;
// QUADS, of columns of y that an item makes sums of.
//
// An item makes the scores of its lines with its keys. Maxima go through local memory, then the
// powers of e, which all that share a line multiply with their columns of the values. A step has
// ROWS * ITEM_KEYS * depth multiply-adds for (ROWS + ITEM_KEYS) * depth / 4 loads of quads, then 4
// * ROWS * QUADS * KEYS for QUADS * KEYS. Loops over ITEMS are not unrolled: their loads would all
// be in registers at once.
#include "kernels/common/launch/local_item.cl"

#define LINES (8 * ROWS)
#define KEYS (ITEM_KEYS * ITEMS)
#if ITEM_KEYS == 4
#define EACH_KEY(DO) DO(x, 0) DO(y, 1) DO(z, 2) DO(w, 3)
#define NUMBERS_OF_KEYS (int4)(0, 1, 2, 3)
#define JOIN_KEYS(join, v) join(join(v.x, v.y), join(v.z, v.w))
#else
#define EACH_KEY(DO) DO(x, 0) DO(y, 1)
#define NUMBERS_OF_KEYS (int2)(0, 1)
#define JOIN_KEYS(join, v) join(v.x, v.y)
#endif
#define KEY_FLOATS OF_LANES(float, ITEM_KEYS)
#define STORE_POWERS OF_LANES(vstore, ITEM_KEYS)
#define SUM(a, b) ((a) + (b))
#define PLACE(lane, number) const int at_##lane = min(own + number, keys - 1) * depth;
#define MULTIPLY_KEY(lane, number)                            \
  {                                                           \
    const float4 of_k = LOAD_QUAD(TYPE_1, k + at_##lane + i); \
    _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {        \
      scores[r].lane += of_q[r].x * of_k.x;                   \
      scores[r].lane += of_q[r].y * of_k.y;                   \
      scores[r].lane += of_q[r].z * of_k.z;                   \
      scores[r].lane += of_q[r].w * of_k.w;                   \
    }                                                         \
  }
#define ADD_BIAS(lane, number) scores[r].lane += added[min(own + number, keys - 1) * bias_key];
// It is below every score but -infinity.
#define LOWEST -3.402823466e38f

kernel __attribute__((reqd_work_group_size(8 * ITEMS, 1, 1))) void attention_f32_cl_buffer(
    global const TYPE_0* restrict q, global const TYPE_1* restrict k,
    global const TYPE_2* restrict v,
#if HAS_BIAS
    global const float* restrict bias,
#endif
    global TYPE_Y* restrict y PARAMS(AttentionBuffer)) {
  local float powers[LINES * KEYS] __attribute__((aligned(16)));
  local float partial[LINES * ITEMS];
  const int item = (int)local_item() % ITEMS;
  const int side = (int)local_item() / ITEMS * ROWS;  // first line of the item in the group
  const int first = (int)get_group_id(0) * LINES + side;
  const int head = get_group_id(1);
  k += head * keys * depth;
  v += head * keys * columns;
  int row[ROWS];  // counts over all heads; lines that there are not repeat the last
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int line = min(first + r, lines - 1);
    row[r] = (head * group + line / rows) * all_rows + first_row + line % rows;
  }
  float4 sums[ROWS * QUADS];
  float maximum[ROWS];
  float divisor[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    maximum[r] = LOWEST;
    divisor[r] = 0.0f;
#pragma unroll
    for (int i = 0; i < QUADS; ++i) sums[r * QUADS + i] = (float4)(0.0f);
  }

  for (int key = 0; key < keys; key += KEYS) {
    const int own = key + ITEM_KEYS * item;
    KEY_FLOATS scores[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) scores[r] = (KEY_FLOATS)(0.0f);
    EACH_KEY(PLACE)
    for (int i = 0; i < depth; i += 4) {
      float4 of_q[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) of_q[r] = LOAD_QUAD(TYPE_0, q + row[r] * depth + i);
      EACH_KEY(MULTIPLY_KEY)
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      scores[r] *= scale;
#if HAS_BIAS
      const int of_head = row[r] / all_rows;
      global const float* const added = bias + of_head / bias_heads * bias_batch +
                                        of_head % bias_heads * bias_head +
                                        row[r] % all_rows * bias_row;
      EACH_KEY(ADD_BIAS)
#endif
      scores[r] = select(scores[r], (KEY_FLOATS)(-INFINITY), own + NUMBERS_OF_KEYS >= keys);
      partial[(side + r) * ITEMS + item] = JOIN_KEYS(max, scores[r]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      float highest = maximum[r];
#pragma unroll 1
      for (int i = 0; i < ITEMS; ++i) highest = max(highest, partial[(side + r) * ITEMS + i]);
      const float shrink = exp(maximum[r] - highest);
      const KEY_FLOATS power = exp(scores[r] - highest);
      maximum[r] = highest;
      divisor[r] = divisor[r] * shrink + JOIN_KEYS(SUM, power);
#pragma unroll
      for (int i = 0; i < QUADS; ++i) sums[r * QUADS + i] *= shrink;
      STORE_POWERS(power, item, powers + (side + r) * KEYS);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const int count = min(KEYS, keys - key);
    for (int j = 0; j < count; ++j) {
#pragma unroll
      for (int i = 0; i < QUADS; ++i) {
        const int column = 4 * (i * ITEMS + item);
        const float4 value = LOAD_QUAD(TYPE_2, v + (key + j) * columns + min(column, columns - 4));
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sums[r * QUADS + i] += powers[(side + r) * KEYS + j] * value;
      }
    }
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) partial[(side + r) * ITEMS + item] = divisor[r];
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    if (first + r >= lines) continue;
    float total = 0.0f;
#pragma unroll 1
    for (int i = 0; i < ITEMS; ++i) total += partial[(side + r) * ITEMS + i];
#pragma unroll
    for (int i = 0; i < QUADS; ++i) {
      const int column = 4 * (i * ITEMS + item);
      float4 result = sums[r * QUADS + i] / total;
#if ZERO_IF_HIDDEN
      if (total == 0.0f) result = (float4)(0.0f);
#endif
      if (column < columns) STORE_QUAD(TYPE_Y, result, y + row[r] * columns + column);
    }
  }
}
