// SKELETON
kernel void batch_matmul_f32_cl_buffer() {}
