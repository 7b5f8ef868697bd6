// Sets y to a sum or an extreme over some axes of x, Plain buffers.
//
// Defines: KEPT, REDUCED, axes of either kind; ITEMS, work-items that share the elements of an
// output, a power of two; OUTPUTS, neighbouring outputs of a group (ITEMS 1: set_line()); IS_MAX:
// not added, compared; ELEMENT: 0 an element as it is, 1 its magnitude, 2 its square, 3 with the
// other sign; IS_ROOT: y is the root. The reduced axes have `count` elements.
#if IS_MAX
#define JOIN(a, b) LARGER(a, b)
#define NOTHING (-INFINITY)
#else
#define JOIN(a, b) ((a) + (b))
#define NOTHING 0.0f
#endif
#if ELEMENT == 1
#define ELEMENT_OF(v) fabs(v)
#elif ELEMENT == 2
#define ELEMENT_OF(v) ((v) * (v))
#elif ELEMENT == 3
#define ELEMENT_OF(v) (-(v))
#else
#define ELEMENT_OF(v) (v)
#endif
#if ITEMS > 1
#include "kernels/common/launch/local_item.cl"

#endif

kernel void reduce_f32_cl_buffer(global const TYPE_0* restrict x,
                                 global TYPE_Y* restrict y PARAMS(ReduceBuffer)) {
#if ITEMS > 1
  local float partial[ITEMS * OUTPUTS];
  const int item = (int)local_item();
  const int output = (int)get_group_id(0) * OUTPUTS + item % OUTPUTS;
  // Items behind the last output have no elements; they still meet the others at the barriers.
  const int end = output < item_count ? count : 0;
  const int first = item / OUTPUTS;
#else
  const int output = get_global_id(0);
  if (output >= item_count) return;
  const int end = count;
  const int first = 0;
#endif
  const int from = axes_offset(output, KEPT, AXES_OF(kept, step0));
  float sum = NOTHING;
  for (int i = first; i < end; i += ITEMS) {
    const int at = from + axes_offset(i, REDUCED, AXES_OF(reduced, step0));
    const float v = LOAD_ONE(TYPE_0, x, at);
    sum = JOIN(sum, ELEMENT_OF(v));
  }
#if ITEMS > 1
  partial[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int items = ITEMS / 2; items > 0; items /= 2) {
    if (item < items * OUTPUTS)
      partial[item] = JOIN(partial[item], partial[item + items * OUTPUTS]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (first > 0 || output >= item_count) return;
  sum = partial[item];
#endif
#if IS_MAX
  STORE_ONE(TYPE_Y, ELEMENT_OF(sum), y, output);
#elif IS_ROOT
  STORE_ONE(TYPE_Y, sqrt(sum), y, output);
#else
  STORE_ONE(TYPE_Y, sum / divisor, y, output);
#endif
}
