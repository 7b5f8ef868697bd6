// Finds the grid that the weights of an output channel lie on, which quantisation left them: the
// numbers alone say it, whatever passes multiplied a channel by.
#pragma once

#include <cstdint>

namespace codl::kernels {

// Returns a scale of which `count` weights, `stride` elements apart, are multiples by integers in
// [-128, 127], the smallest; 0 if there is none. Zeros alone have scale 1.
float weight_scale(const float* weights, int64_t count, int64_t stride);

// Returns weight / scale as an integer.
inline int8_t quantised_weight(float weight, float scale) {
  const float quotient = weight / scale;
  return static_cast<int8_t>(quotient + (quotient < 0 ? -0.5f : 0.5f));
}

}  // namespace codl::kernels
