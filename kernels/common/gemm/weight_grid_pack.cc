#include <cassert>
#include <cmath>

#include "kernels/common/gemm/byte_panels.h"
#include "kernels/common/gemm/weight_grid.h"

namespace codl::kernels {

namespace {

// A weight is a product of its integer and the scale in floats, perhaps times another factor. It
// may be off by so much of the largest weight.
constexpr float kOffGrid = 1e-6f;

// Counts the weights that are exactly an integer times the scale; -1 if one is off the grid. The
// largest is `steps` times the scale.
int64_t count_exact(const float* w, int64_t count, int64_t step, float scale, int32_t steps) {
  const float off_grid = kOffGrid * static_cast<float>(steps);
  int64_t exact = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float quotient = w[i * step] / scale;
    const float nearest = std::nearbyint(quotient);
    // A comparison with a NaN is false.
    if (!(std::fabs(quotient - nearest) <= off_grid && nearest >= -128 && nearest <= 127))
      return -1;
    if (nearest * scale == w[i * step]) ++exact;
  }
  return exact;
}

}  // namespace

bool find_channel_grid(const float* w, int64_t count, int64_t step, float* out_scale) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i)
    if (const float size = std::fabs(w[i * step]); !(size <= largest)) largest = size;
  *out_scale = 1;
  if (largest == 0) return true;
  if (!std::isfinite(largest)) return false;
  // The largest scale of which all are multiples to the last digit is the one that they were
  // computed with. Else the smallest is best: of weights that are no multiples, it keeps the most.
  bool is_found = false;
  for (int32_t steps = 1; steps <= 128; ++steps) {
    float best = largest / static_cast<float>(steps);
    int64_t exact = count_exact(w, count, step, best, steps);
    if (exact < 0) continue;
    is_found = true;
    // The quotient is rounded: a neighbour may be the scale.
    float below = best;
    float above = best;
    for (int i = 0; i < 2 && exact < count; ++i) {
      below = std::nextafter(below, 0.0f);
      above = std::nextafter(above, 2 * above);
      for (const float other : {below, above})
        if (const int64_t more = count_exact(w, count, step, other, steps); more > exact) {
          exact = more;
          best = other;
        }
    }
    *out_scale = best;
    if (exact == count) break;
  }
  return is_found;
}

void pack_byte_panel(const float* src, int64_t channels, int64_t channel_step, int64_t taps,
                     int64_t depth, int64_t step, int8_t* dst) {
  const int64_t quads = ceil_div(depth, kQuadInputs);
  BytePanelEnd end = {};
  __builtin_memset(dst, 0, static_cast<size_t>(taps * quads * kInputQuadBytes));
  for (int64_t channel = 0; channel < channels; ++channel) {
    const float* w = src + channel * channel_step;
    float& scale = end.scales[channel];
    [[maybe_unused]] const bool is_on_grid = find_channel_grid(w, taps * depth, step, &scale);
    assert(is_on_grid);
    for (int64_t input = 0; input < depth; ++input)
      for (int64_t tap = 0; tap < taps; ++tap, w += step) {
        const auto q = static_cast<int32_t>(std::nearbyint(*w / scale));
        dst[(tap * quads + input / kQuadInputs) * kInputQuadBytes + channel * kQuadInputs +
            input % kQuadInputs] = static_cast<int8_t>(q);
        end.sums[channel] += q;
      }
  }
  __builtin_memcpy(dst + taps * quads * kInputQuadBytes, &end, sizeof end);
}

}  // namespace codl::kernels
