// SKELETON
kernel void resize_f32_cl_buffer() {}
