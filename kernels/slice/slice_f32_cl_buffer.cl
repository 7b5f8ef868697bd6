// Copies elements of x, `first` and those that the axes lead to, to y in order.
#include "kernels/common/launch/copy_axes.cl"

kernel void slice_f32_cl_buffer(global const float* restrict x, global float* restrict y,
                                int item_count, int first, AXES_PARAMS) {
  if ((int)get_global_id(0) < item_count) copy_axes(x + first, y, AXES_ARGS);
}
