// Copies elements of x, `first` and those that the axes lead to, to y in order.
#include "kernels/common/launch/copy_axes.cl"

kernel void slice_f32_cl_buffer(global const float* restrict x,
                                global float* restrict y PARAMS(CopyAxes)) {
  const int id = get_global_id(0);
  if (id < item_count) copy_axes(x + first + axes_offset(id * WIDTH, AXES_OF(axis, step)), y);
}
