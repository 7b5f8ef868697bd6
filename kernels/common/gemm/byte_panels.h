// The packing of Conv2d's and MatMul's weights as signed bytes: a panel of kChannelPanel output
// channels is
//
//   [taps][ceil(depth/4)][16][4]  bytes: the input channels of a tap by fours, zeros behind them
//   float scales[16]              a weight is its byte times its channel's scale
//   int32_t sums[16]              of a channel's bytes
//
// Instructions add the products of four bytes to a sum of 32 bits: sdot of Arm, vpdpbusd of x86.
// The sums correct for zero points: the sum of (q - z) w is that of q w less z times that of w.
#pragma once

#include "kernels/common/gemm/packed_weights.h"

namespace codl::kernels {

inline constexpr int64_t kQuadInputs = 4;  // input channels
inline constexpr int64_t kInputQuadBytes = kQuadInputs * kChannelPanel;

// Ends a panel.
struct BytePanelEnd {
  float scales[kChannelPanel];
  int32_t sums[kChannelPanel];
};

// Scratch of a kernel for a panel: what its sums are multiplied by, end and begin with.
inline constexpr uint64_t kByteScaleBytes = kChannelPanel * (2 * sizeof(float) + sizeof(int32_t));

constexpr int64_t byte_panel_bytes(int64_t taps, int64_t depth) {
  return taps * ceil_div(depth, kQuadInputs) * kInputQuadBytes + int64_t{sizeof(BytePanelEnd)};
}

// Packs a panel of `channels` output channels, 16 at most. The weight of an input channel and a tap
// is src[channel * channel_step + (input * taps + tap) * step]. Each output channel's weights lie
// on a grid (find_channel_grid()).
void pack_byte_panel(const float* src, int64_t channels, int64_t channel_step, int64_t taps,
                     int64_t depth, int64_t step, int8_t* dst);

}  // namespace codl::kernels
