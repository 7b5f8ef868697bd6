#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "schema/half.h"

namespace codl::kernels {

template <typename Element>
void depthwise_conv2d_pack(const int32_t* dims, const float* src, Element* dst) {
  const int64_t channels = dims[0];
  const int64_t taps = int64_t{dims[2]} * dims[3];
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t c = 0; c < panel_channels(channels); ++c)
      *dst++ = static_cast<Element>(c < channels ? src[c * taps + tap] : 0.0f);
}

void depthwise_conv2d_pack(const int32_t* dims, const float* src, int8_t* dst) {
  const int64_t taps = int64_t{dims[2]} * dims[3];
  for (int64_t first = 0; first < dims[0]; first += kChannelPanel) {
    const int64_t left = dims[0] - first;
    pack_byte_panel(src + first * taps, left < kChannelPanel ? left : kChannelPanel, taps, dims[3],
                    dims[2], 1, dst);
    dst += depthwise_panel_bytes(dims);
  }
}

template void depthwise_conv2d_pack(const int32_t*, const float*, float*);
template void depthwise_conv2d_pack(const int32_t*, const float*, Half*);

}  // namespace codl::kernels
