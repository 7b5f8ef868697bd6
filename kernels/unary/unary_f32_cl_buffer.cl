// y = f(x) element by element, for Plain or Nhwc buffers; f is ACTIVATION (define). One work-item
// per chunk of 16 lanes: `batch` times `pixels` runs of stored_count lanes, of which those from
// valid_count on are pad lanes and become zero. Offsets and strides are in elements.
kernel void unary_f32_cl_buffer(global const float* restrict x, global float* restrict y,
                                int item_count, int chunks, int pixels, int pixel_stride,
                                int stored_count, int valid_count,  //
                                int x_offset, int x_batch_stride,   //
                                int y_offset, int y_batch_stride,   //
                                float alpha, float beta) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int lane = id % chunks * 16;
  id /= chunks;
  const int at = id % pixels * pixel_stride + lane;
  const int n = id / pixels;
  const int stored = min(16, stored_count - lane);
  float16 v = load_lanes(x + x_offset + n * x_batch_stride + at, stored);
  v = ACTIVATE(v, alpha, beta);
  if (valid_count - lane < 16) v = keep_lanes(v, valid_count - lane);
  store_lanes(v, y + y_offset + n * y_batch_stride + at, stored);
}
