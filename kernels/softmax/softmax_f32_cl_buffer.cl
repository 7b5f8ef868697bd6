// Computes y = e^(x - max) / sum of e^(x - max) along runs of `axis` elements, axis_stride apart,
// for Plain or Nhwc buffers.
//
// Defines: IS_LOG, the logarithm of it; ITEMS, work-items that share a run, a power of two,
// neighbours in a group of GROUP_ITEMS; HELD, elements that an item keeps between its passes, 0: it
// reads them in each. Run `i` begins at i / inner * outer_stride + i % inner; with ITEMS its
// elements are neighbours, inner is 1. `pad` elements behind a run become zero, and so does a run
// of pad lanes: one whose lane in the pixel is not below `channels`.
#if ITEMS > 1
#include "kernels/common/launch/local_item.cl"

#define JOIN_ITEMS(v, join)                                      \
  *own = v;                                                      \
  barrier(CLK_LOCAL_MEM_FENCE);                                  \
  for (int items = ITEMS / 2; items > 0; items /= 2) {           \
    if (item < items) *own = join(*own, own[items]);             \
    barrier(CLK_LOCAL_MEM_FENCE);                                \
  }                                                              \
  v = own[-item];                                                \
  barrier(CLK_LOCAL_MEM_FENCE);
#define SUM(a, b) ((a) + (b))
#define AT(i) (i)
#else
#define JOIN_ITEMS(v, join)
#define AT(i) ((i) * axis_stride)
#endif

// Goes through the item's elements of the run. What is held is computed without tests, side by
// side: elements behind the run are -infinity, which changes neither maximum nor sum.
#if HELD
#define EACH_ELEMENT _Pragma("unroll") for (int k = 0, i = item; k < HELD; ++k, i += ITEMS)
#define ELEMENT held[k]
#define KEEP(v) held[k] = v
#else
#define EACH_ELEMENT for (int i = item; i < count; i += ITEMS)
#define ELEMENT LOAD_ONE(TYPE_0, x, AT(i))
#define KEEP(v)
#endif

kernel void softmax_f32_cl_buffer(global const TYPE_0* restrict x,
                                  global TYPE_Y* restrict y PARAMS(SoftmaxBuffer)) {
#if ITEMS > 1
  local float partial[GROUP_ITEMS];
  const int item = (int)local_item() % ITEMS;
  local float* const own = partial + local_item();
  // Items behind the last run have no elements; they still meet the others at the barriers.
  const int run = (int)get_global_id(0) / ITEMS;
  const int count = run < item_count ? axis : 0;
  const int begin = run * outer_stride;
#else
  const int item = 0;
  const int count = axis;
  const int run = get_global_id(0);
  if (run >= item_count) return;
  const int begin = run / inner * outer_stride + run % inner;
#endif
  x += begin;
  y += begin;
#if ITEMS == 1
  if (run % inner % pixel >= channels) {
    for (int i = 0; i < axis; ++i) STORE_ONE(TYPE_Y, 0.0f, y, AT(i));
    return;
  }
#endif
#if HELD
  float held[HELD];
  EACH_ELEMENT {
    held[k] = -INFINITY;
    if (i < count) held[k] = LOAD_ONE(TYPE_0, x, AT(i));
  }
#endif
  float maximum = -INFINITY;
  EACH_ELEMENT maximum = max(maximum, ELEMENT);
  JOIN_ITEMS(maximum, max)
  float sum = 0.0f;
  EACH_ELEMENT {
    const float distance = ELEMENT - maximum;
    const float power = exp(distance);
    sum += power;
    KEEP(IS_LOG ? distance : power);
  }
  JOIN_ITEMS(sum, SUM)
#if IS_LOG
  const float log_sum = log(sum);
#define RESULT(distance, power) ((distance)-log_sum)
#else
#define RESULT(distance, power) ((power) / sum)
#endif
#if HELD
  EACH_ELEMENT {
    const float result = RESULT(held[k], held[k]);
    if (i < count) STORE_ONE(TYPE_Y, result, y, AT(i));
  }
#else
  EACH_ELEMENT {
    const float distance = ELEMENT - maximum;
    STORE_ONE(TYPE_Y, RESULT(distance, exp(distance)), y, AT(i));
  }
#endif
  if (count > 0)
    for (int i = item; i < pad; i += ITEMS) STORE_ONE(TYPE_Y, 0.0f, y, axis + i);
}
