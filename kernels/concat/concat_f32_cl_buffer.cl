// Joins inputs along the channels, Nhwc buffers. Define: INPUTS, 1 to 15, that are copied.
//
// One work-item copies one chunk of up to 16 channels of one pixel of one input; `chunks` counts
// those of all inputs. Channels of an input may begin anywhere in y's pixel. The chunk with the
// last channel of y also writes its pad lanes. Each input has its first channel in y, channels,
// offset of the part's first row, distance of batches.
//
// Where the chunk lies is in from_float or from_half, by its input's type.
#define INPUT(i) global const TYPE_##i* restrict x##i,
#define SCALARS(i) PARAM_GROUP(ConcatBufferInput, x##i)
#define NEXT(i)                                                             \
  if (chunk >= (channels + 15) / 16) {                                      \
    chunk -= (channels + 15) / 16;                                          \
    first = x##i##_first;                                                   \
    PASTE(from, TYPE_##i) = x##i + x##i##_offset + n * x##i##_batch_stride; \
    is_half = (HALVES >> i & 1) != 0;                                       \
    channels = x##i##_channels;                                             \
  }
#define ALL_INPUTS ((1 << INPUTS) - 1)
#define HAS_FLOATS ((HALVES & ALL_INPUTS) != ALL_INPUTS)
#define HAS_HALVES ((HALVES & ALL_INPUTS) != 0)

kernel void concat_f32_cl_buffer(EACH_INPUT(INPUT) global TYPE_Y* restrict y PARAMS(ConcatBuffer)
                                     EACH_INPUT(SCALARS)) {
  int id = get_global_id(0);
  if (id >= item_count) return;
  int chunk = id % chunks;
  id /= chunks;
  const int pixel = id % pixels;
  const int n = id / pixels;

#if HAS_FLOATS
  global const float* from_float = 0;
#endif
#if HAS_HALVES
  global const half* from_half = 0;
#endif
  bool is_half = false;
  int first = 0;     // output channel at which the input begins
  int channels = 0;  // channels of the input; 0: not found yet
  EACH_INPUT(NEXT)

  const int count = min(16, channels - chunk * 16);
  global TYPE_Y* const to = y + y_offset + n * y_batch_stride + pixel * y_pixel_stride;
  const int at = pixel * ((channels + 3) / 4 * 4) + chunk * 16;
  const int out_channel = first + chunk * 16;
#if !HAS_HALVES
  const float16 v = load_lanes(from_float + at, count);
#elif !HAS_FLOATS
  const float16 v = load_lanes_half(from_half + at, count);
#else
  const float16 v =
      is_half ? load_lanes_half(from_half + at, count) : load_lanes(from_float + at, count);
#endif
  STORE_LANES(TYPE_Y, v, to + out_channel, count);
  if (out_channel + count == out_c)
    for (int c = out_c; c < (out_c + 3) / 4 * 4; ++c) STORE_ONE(TYPE_Y, 0.0f, to, c);
}
