// The packings of Conv2d, DepthwiseConv2d and MatMul have this in common: panels of kChannelPanel
// output channels, padded with zeros. kernels/pack.h lists the forms.
#pragma once

#include "schema/step_shape.h"

namespace codl::kernels {

// Returns `channels` rounded up to whole panels.
constexpr int64_t panel_channels(int64_t channels) {
  return ceil_div(channels, kChannelPanel) * kChannelPanel;
}

constexpr uint64_t packed_bias_bytes(int32_t channels) {
  return static_cast<uint64_t>(panel_channels(channels)) * sizeof(float);
}

// Copies `channels` values and adds zeros up to the panel.
inline void pack_bias(int32_t channels, const float* src, float* dst) {
  for (int64_t i = 0; i < panel_channels(channels); ++i) dst[i] = i < channels ? src[i] : 0.0f;
}

}  // namespace codl::kernels
