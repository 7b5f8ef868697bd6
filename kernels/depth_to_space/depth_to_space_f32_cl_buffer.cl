// Turns blocks of channels into blocks of pixels, Nhwc buffers.
//
// Defines: IS_CHANNEL_MAJOR. One work-item is one output pixel times 16 channels; channels first,
// then columns, rows, batch. Pad lanes become zero.
kernel void depth_to_space_f32_cl_buffer(global const TYPE_0* restrict x,
                                         global TYPE_Y* restrict y PARAMS(DepthToSpaceBuffer)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  const int in_part = id % chunks * 16;
  const int channel = first_channel + in_part;
  id /= chunks;
  const int column = id % out_w;
  id /= out_w;
  const int row = id % rows;
  const int n = id / rows;
  const int stored = min(16, stored_count - in_part);
  const int valid = min(16, valid_count - in_part);

  const int y_row = first_row + row + crop_top;
  const int y_column = column + crop_left;
  const int i = y_row / block_h;
  const int j = y_column / block_w;
  const int place = y_row % block_h * block_w + y_column % block_w;
#if IS_CHANNEL_MAJOR
  const int step = block_h * block_w;
  const int first = place + channel * step;
#else
  const int step = 1;
  const int first = place * out_channels + channel;
#endif
  float lanes[16] = {0};
  global const TYPE_0* from =
      x + x_offset + n * x_batch_stride + (i - x_row_begin) * x_row_stride + j * x_pixel_stride +
      first;
  for (int lane = 0; lane < valid; ++lane) lanes[lane] = LOAD_ONE(TYPE_0, from, lane * step);
  STORE_LANES(TYPE_Y, vload16(0, lanes),
              y + y_offset + n * y_batch_stride + row * y_row_stride + column * y_pixel_stride +
                  channel,
              stored);
}
