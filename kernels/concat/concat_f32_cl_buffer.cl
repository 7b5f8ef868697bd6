// Inputs joined along the channels, Nhwc buffers. Define: INPUTS, 1 to 15.
//
// One work-item copies one chunk of up to 16 channels of one pixel of one input; `chunks` counts
// those of all inputs. Channels of an input may begin anywhere in y's pixel. The last chunk also
// writes y's pad lanes. Per input: channels, offset of the part's first row, distance of batches.
#define INPUT(i) global const float* restrict x##i,
#define SCALARS(i) , int channels##i, int offset##i, int batch_stride##i
#define NEXT(i)                                    \
  if (chunk >= (channels + 15) / 16) {             \
    chunk -= (channels + 15) / 16;                 \
    first += channels;                             \
    from = x##i + offset##i + n * batch_stride##i; \
    channels = channels##i;                        \
  }

kernel void concat_f32_cl_buffer(EACH_INPUT(INPUT) global float* restrict y,  //
                                 int item_count, int chunks, int pixels, int out_c, int y_offset,
                                 int y_batch_stride EACH_INPUT(SCALARS)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  int chunk = id % chunks;
  id /= chunks;
  const int pixel = id % pixels;
  const int n = id / pixels;

  global const float* from = x0;
  int first = 0;     // output channel of the input's first
  int channels = 0;  // of the input; 0: not found yet
  EACH_INPUT(NEXT)

  const int count = min(16, channels - chunk * 16);
  const int y_pixel_stride = (out_c + 3) / 4 * 4;
  global float* const to = y + y_offset + n * y_batch_stride + pixel * y_pixel_stride;
  from += pixel * ((channels + 3) / 4 * 4) + chunk * 16;
  const int out_channel = first + chunk * 16;
  store_lanes(load_lanes(from, count), to + out_channel, count);
  if (out_channel + count == out_c)
    for (int c = out_c; c < y_pixel_stride; ++c) to[c] = 0.0f;
}
