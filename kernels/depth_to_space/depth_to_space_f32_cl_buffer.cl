// SKELETON
kernel void depth_to_space_f32_cl_buffer() {}
