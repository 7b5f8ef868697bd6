// SKELETON
kernel void slice_f32_cl_buffer() {}
