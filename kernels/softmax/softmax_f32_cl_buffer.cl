// SKELETON
kernel void softmax_f32_cl_buffer() {}
