#include "kernels/common/gemm/byte_panels.h"
#include "kernels/conv2d/conv2d.h"
#include "schema/half.h"

namespace codl::kernels {

template <typename Element>
void conv2d_pack(const int32_t* dims, int32_t groups, const float* src, Element* dst) {
  const int64_t group_channels = dims[0] / groups;
  const int64_t in_channels = dims[1];
  const int64_t taps = int64_t{dims[2]} * dims[3];
  for (int64_t group = 0; group < groups; ++group) {
    const float* group_src = src + group * group_channels * in_channels * taps;
    for (int64_t first = 0; first < group_channels; first += kChannelPanel)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t ic = 0; ic < in_channels; ++ic)
          for (int64_t oc = first; oc < first + kChannelPanel; ++oc)
            *dst++ = static_cast<Element>(
                oc < group_channels ? group_src[(oc * in_channels + ic) * taps + tap] : 0.0f);
  }
}

void conv2d_pack(const int32_t* dims, int32_t groups, const float* src, int8_t* dst) {
  const int64_t group_channels = dims[0] / groups;
  const int64_t taps = int64_t{dims[2]} * dims[3];
  for (int64_t group = 0; group < groups; ++group, src += group_channels * taps * dims[1])
    for (int64_t first = 0; first < group_channels; first += kChannelPanel) {
      const int64_t left = group_channels - first;
      pack_byte_panel(src + first * taps * dims[1], left < kChannelPanel ? left : kChannelPanel,
                      taps * dims[1], taps, dims[1], 1, dst);
      dst += byte_panel_bytes(taps, dims[1]);
    }
}

template void conv2d_pack(const int32_t*, int32_t, const float*, float*);
template void conv2d_pack(const int32_t*, int32_t, const float*, Half*);

}  // namespace codl::kernels
