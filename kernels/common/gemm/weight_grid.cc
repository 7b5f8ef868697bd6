#include "kernels/common/gemm/weight_grid.h"

namespace codl::kernels {
namespace {

constexpr int32_t kMostSteps = 127;

// A weight is a product of its integer and the scale in floats, perhaps times another factor: it is
// off by few of its last digits. So much of the largest weight it may be off.
constexpr float kTolerance = 1e-6f;

bool is_multiple(float weight, float scale, float tolerance) {
  const float quotient = weight / scale;
  const float off =
      quotient - static_cast<float>(static_cast<int32_t>(quotient + (quotient < 0 ? -0.5f : 0.5f)));
  return off <= tolerance && off >= -tolerance;
}

}  // namespace

float weight_scale(const float* weights, int64_t count, int64_t stride) {
  float lowest = 0;
  float highest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float weight = weights[i * stride];
    if (!(weight - weight == 0)) return 0;  // infinite, or a NaN
    lowest = weight < lowest ? weight : lowest;
    highest = weight > highest ? weight : highest;
  }
  if (lowest == 0 && highest == 0) return 1;
  // The most steps come first: of weights that are no multiples, these keep the most.
  const bool has_128 = -lowest > highest;
  const float largest = has_128 ? -lowest : highest;
  for (int32_t steps = kMostSteps + (has_128 ? 1 : 0); steps > 0; --steps) {
    const float scale = largest / static_cast<float>(steps);
    const float tolerance = kTolerance * static_cast<float>(steps);
    int64_t i = 0;
    while (i < count && is_multiple(weights[i * stride], scale, tolerance)) ++i;
    if (i == count && scale > 0 && highest / scale < kMostSteps + 0.5f) return scale;
  }
  return 0;
}

}  // namespace codl::kernels
