// Computes y = e^(x - max) / sum of e^(x - max) along runs of `axis` elements, axis_stride apart,
// for Plain or Nhwc buffers.
//
// Defines: IS_LOG, the logarithm of it; ITEMS, work-items that share a run, a power of two. Run `i`
// begins at i / inner * outer_stride + i % inner. `pad` elements behind a run become zero, and so
// does a run of pad lanes: one whose lane in the pixel is not below `channels`.
#if ITEMS > 1
#define JOIN_ITEMS(v, join)                                                       \
  partial[item] = v;                                                              \
  barrier(CLK_LOCAL_MEM_FENCE);                                                   \
  for (int items = ITEMS / 2; items > 0; items /= 2) {                            \
    if (item < items) partial[item] = join(partial[item], partial[item + items]); \
    barrier(CLK_LOCAL_MEM_FENCE);                                                 \
  }                                                                               \
  v = partial[0];                                                                 \
  barrier(CLK_LOCAL_MEM_FENCE);
#define SUM(a, b) ((a) + (b))
#else
#define JOIN_ITEMS(v, join)
#endif

kernel void softmax_f32_cl_buffer(global const TYPE_0* restrict x,
                                  global TYPE_Y* restrict y PARAMS(SoftmaxBuffer)) {
#if ITEMS > 1
  // There is one group per run and no group too many: no item may leave before a barrier.
  local float partial[ITEMS];
  const int item = get_local_id(0);
  const int run = get_group_id(0);
#else
  const int item = 0;
  const int run = get_global_id(0);
  if (run >= item_count) return;
#endif
  const int begin = run / inner * outer_stride + run % inner;
  x += begin;
  y += begin;
#if ITEMS == 1
  if (run % inner % pixel >= channels) {
    for (int i = 0; i < axis; ++i) STORE_ONE(TYPE_Y, 0.0f, y, i * axis_stride);
    return;
  }
#endif
  float maximum = -INFINITY;
  for (int i = item; i < axis; i += ITEMS) maximum = max(maximum, LOAD_ONE(TYPE_0, x, i * axis_stride));
  JOIN_ITEMS(maximum, max)
  float sum = 0.0f;
  for (int i = item; i < axis; i += ITEMS) sum += exp(LOAD_ONE(TYPE_0, x, i * axis_stride) - maximum);
  JOIN_ITEMS(sum, SUM)
#if IS_LOG
  const float log_sum = log(sum);
#endif
  for (int i = item; i < axis; i += ITEMS) {
    const float distance = LOAD_ONE(TYPE_0, x, i * axis_stride) - maximum;
#if IS_LOG
    STORE_ONE(TYPE_Y, distance - log_sum, y, i * axis_stride);
#else
    STORE_ONE(TYPE_Y, exp(distance) / sum, y, i * axis_stride);
#endif
  }
  for (int i = item; i < pad; i += ITEMS) STORE_ONE(TYPE_Y, 0.0f, y, axis + i);
}
