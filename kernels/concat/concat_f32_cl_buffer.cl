// Joins inputs along the channels, Nhwc buffers. Define: INPUTS, 1 to 15, that are copied.
//
// One work-item copies one chunk of up to 16 channels of one pixel of one input; `chunks` counts
// those of all inputs. Channels of an input may begin anywhere in y's pixel. The chunk with the
// last channel of y also writes its pad lanes. Each input has its first channel in y, channels,
// offset of the part's first row, distance of batches.
#include "kernels/concat/concat_source.cl"

#define INPUT(i) global const TYPE_##i* restrict x##i,
#define SCALARS(i) PARAM_GROUP(ConcatBufferInput, x##i)
#define NEXT(i)                                            \
  if (chunk >= (channels + 15) / 16) {                     \
    chunk -= (channels + 15) / 16;                         \
    first = x##i##_first;                                  \
    SET_SOURCE(i, x##i##_offset + n * x##i##_batch_stride) \
    channels = x##i##_channels;                            \
  }

kernel void concat_f32_cl_buffer(EACH_INPUT(INPUT) global TYPE_Y* restrict y PARAMS(ConcatBuffer)
                                     EACH_INPUT(SCALARS)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  int chunk = id % chunks;
  id /= chunks;
  const int pixel = id % pixels;
  const int n = id / pixels;

  START_SOURCE
  int first = 0;     // output channel at which the input begins
  int channels = 0;  // channels of the input; 0: not found yet
  EACH_INPUT(NEXT)

  const int count = min(16, channels - chunk * 16);
  global TYPE_Y* const to = y + y_offset + n * y_batch_stride + pixel * y_pixel_stride;
  const int at = pixel * ((channels + 3) / 4 * 4) + chunk * 16;
  const int out_channel = first + chunk * 16;
#define CHUNK_OF(type, p) LOAD_LANES(type, p + at, count)
  const float16 v = FROM_SOURCE(CHUNK_OF);
  STORE_LANES(TYPE_Y, v, to + out_channel, count);
  if (out_channel + count == out_c)
    for (int c = out_c; c < (out_c + 3) / 4 * 4; ++c) STORE_ONE(TYPE_Y, 0.0f, to, c);
}
