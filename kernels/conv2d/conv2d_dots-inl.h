// Holds the micro-kernel of Conv2d for few output channels, which would leave most lanes of a panel
// empty: lanes lie along the reduction instead, and an output is the dot product of its window with
// the channel's weights. This is Highway code, compiled once per target.
//
// A window is read in runs of elements that follow each other (Conv2dDots). Lane l of a sum adds
// elements l, l + lanes ... of each run, in the order of the runs; then the lanes are added, then
// the bias. That order depends on the operator alone, wherever a tile begins.
#if defined(CODL_KERNELS_CONV2D_CONV2D_DOTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_CONV2D_CONV2D_DOTS_INL_H
#undef CODL_KERNELS_CONV2D_CONV2D_DOTS_INL_H
#else
#define CODL_KERNELS_CONV2D_CONV2D_DOTS_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/gemm/panel_tile-inl.h"
#include "kernels/conv2d/conv2d.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

constexpr int kMaxDots = conv2d_most_dots(kPanelLanes);
constexpr int dots_for(int64_t channels) { return conv2d_dots_for(channels); }
constexpr int dot_pixels_for(int dots) { return conv2d_dot_pixels(dots); }
constexpr int kMaxDotPixels = 8;
constexpr bool takes_dots(const Conv2dDots& dots, int64_t channels, int64_t reduction) {
  return conv2d_takes_dots(dots, channels, reduction, kPanelLanes);
}

// Describes a tile of `dot_pixels_for(dots)` pixels.
struct DotTile {
  const float* const* inputs;  // [runs][pixels]: where the runs are
  int64_t runs;
  int64_t run;           // elements, a vector at least
  const float* weights;  // as pack_dots() writes them
  const float* bias;     // [dots]
  float* sums;           // [pixels][16]
};

// The last vector of a run that is no multiple of one ends with the run: its first lanes, which the
// vector before has too, count as zero.
template <int kDots>
HWY_NOINLINE void compute_dots(const DotTile& tile) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  constexpr int kPixels = dot_pixels_for(kDots);
  PanelVec sums[kPixels][kDots];
#pragma GCC unroll 8
  for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 8
    for (int channel = 0; channel < kDots; ++channel) sums[pixel][channel] = hn::Zero(d);

  const int64_t rest = tile.run % kPanelLanes;
  const auto is_old = hn::FirstN(d, static_cast<size_t>(kPanelLanes - rest));
  const float* weights = tile.weights;
  const float* const* inputs = tile.inputs;
  for (int64_t run = 0; run < tile.runs; ++run, inputs += kPixels) {
    PanelVec w[kDots];
    for (int64_t i = 0; i + kPanelLanes <= tile.run; i += kPanelLanes) {
#pragma GCC unroll 8
      for (int channel = 0; channel < kDots; ++channel, weights += kPanelLanes)
        w[channel] = hn::LoadU(d, weights);
#pragma GCC unroll 8
      for (int pixel = 0; pixel < kPixels; ++pixel) {
        const PanelVec x = hn::LoadU(d, inputs[pixel] + i);
#pragma GCC unroll 8
        for (int channel = 0; channel < kDots; ++channel)
          add_product(x, w[channel], sums[pixel][channel]);
      }
    }
    if (rest == 0) continue;
#pragma GCC unroll 8
    for (int channel = 0; channel < kDots; ++channel, weights += kPanelLanes)
      w[channel] = hn::LoadU(d, weights);
#pragma GCC unroll 8
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      const PanelVec x =
          hn::IfThenZeroElse(is_old, hn::LoadU(d, inputs[pixel] + tile.run - kPanelLanes));
#pragma GCC unroll 8
      for (int channel = 0; channel < kDots; ++channel)
        add_product(x, w[channel], sums[pixel][channel]);
    }
  }
#pragma GCC unroll 8
  for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 8
    for (int channel = 0; channel < kDots; ++channel)
      tile.sums[pixel * kChannelPanel + channel] =
          hn::GetLane(hn::SumOfLanes(d, sums[pixel][channel])) + tile.bias[channel];
}

using DotFunction = void (*)(const DotTile& tile);

template <int kDots = kMaxDots>
DotFunction dot_function(int dots) {
  if constexpr (kDots > 1)
    if (dots < kDots) return dot_function<kDots / 2>(dots);
  return compute_dots<kDots>;
}

// Writes weights in the order in which compute_dots() takes them: [runs][vectors][dots][lanes]. Of
// `packed`, the panel [taps][in_channels][16] with zeros behind the last channel, a run has as many
// taps as make dots.run elements.
inline HWY_NOINLINE void pack_dots(const Conv2dDots& dots, const float* packed, int64_t in_channels,
                                   int channels, float* to) {
  const int count = dots_for(channels);
  const int64_t run_taps = dots.run / dots.depth;
  for (int64_t run = 0; run < dots.runs; ++run, packed += run_taps * in_channels * kChannelPanel)
    for (int64_t begin = 0; begin < dots.run; begin += kPanelLanes) {
      const int64_t first = begin + kPanelLanes <= dots.run ? begin : dots.run - kPanelLanes;
      for (int channel = 0; channel < count; ++channel)
#pragma GCC unroll 1
        for (int64_t i = first; i < first + kPanelLanes; ++i) {
          const int64_t in_channel = i % dots.depth;
          *to++ =
              i >= begin && in_channel < in_channels
                  ? packed[(i / dots.depth * in_channels + in_channel) * kChannelPanel + channel]
                  : 0.0f;
        }
    }
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_CONV2D_CONV2D_DOTS_INL_H
