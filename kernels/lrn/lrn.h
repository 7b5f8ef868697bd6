// Lrn is local response normalisation: an element over a power of a sum of its neighbours' squares.
//
//   x, y  [n, c, h, w], f32
//
//   y = x / (bias + alpha / size * the sum of the squares of channels [k - below, k + above])^beta
//
// for an element of channel k; channels that are not there count as zero. lrn_any_cpu: Plain. The
// other kernels: Nhwc; parts: Height, x must hold the rows of the part. Pad lanes of x are zero and
// of y are written as zero. y must not overlap x. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/row_work.h"

namespace codl::kernels {

// Says how many channels before and after an element's own are in its sum, at most all of them.
struct LrnNeighbours {
  int32_t below;
  int32_t above;
  constexpr int32_t count() const { return below + 1 + above; }
};

constexpr LrnNeighbours lrn_neighbours(const LrnParams& params, int32_t channels) {
  const int32_t below = (params.size - 1) / 2;
  const int32_t above = params.size - 1 - below;
  return {below < channels ? below : channels, above < channels ? above : channels};
}

// The squares' factor.
constexpr float lrn_scale(const LrnParams& params) {
  return params.alpha / static_cast<float>(params.size);
}

// Networks have this exponent (AlexNet, GoogLeNet): two square roots in place of a power.
inline constexpr float kLrnUsualBeta = 0.75f;

// Returns the floats in which lrn_f32_cpu has a pixel's squares: zeros before and after them, and
// what a vector reads beyond.
constexpr int64_t lrn_scratch_floats(const LrnParams& params, const OperandShape& y) {
  return int64_t{padded_channels(y)} + lrn_neighbours(params, y.dims[1]).count() + kChannelPanel;
}

// base^beta.
float lrn_power_ref(float base, float beta);

void lrn_ref(const KernelArgs& args);
void lrn_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
