// SKELETON
kernel void transpose_f32_cl_buffer() {}
