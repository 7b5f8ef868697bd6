// SKELETON
kernel void normalize_f32_cl_buffer() {}
