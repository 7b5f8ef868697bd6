#include <cassert>
#include <cmath>

#include "kernels/common/gemm/block_panels.h"
#include "kernels/common/gemm/byte_panels.h"
#include "kernels/common/gemm/weight_grid.h"

namespace codl::kernels {

namespace {

// A weight is a product of its integer and the scale in floats, perhaps times another factor. It
// may be off by so much of the largest weight.
constexpr float kOffGrid = 1e-6f;

// Limits the integers that weights are, and how far the largest and the smallest are apart, zero
// among them.
struct IntegerLimits {
  int32_t low;
  int32_t high;
  int32_t span;
};
constexpr IntegerLimits kSignedBytes = {-128, 127, 255};

// Counts the weights that are exactly an integer times the scale; -1 if one is off the grid. The
// largest is `steps` times the scale.
int64_t count_exact(const float* w, int64_t count, int64_t step, float scale, int32_t steps,
                    IntegerLimits limits) {
  const float off_grid = kOffGrid * static_cast<float>(steps);
  float low = 0;
  float high = 0;
  int64_t exact = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float quotient = w[i * step] / scale;
    const float nearest = std::nearbyint(quotient);
    // A comparison with a NaN is false.
    if (!(std::fabs(quotient - nearest) <= off_grid)) return -1;
    if (nearest < low) low = nearest;
    if (nearest > high) high = nearest;
    if (nearest * scale == w[i * step]) ++exact;
  }
  const bool is_within = low >= static_cast<float>(limits.low) &&
                         high <= static_cast<float>(limits.high) &&
                         high - low <= static_cast<float>(limits.span);
  return is_within ? exact : -1;
}

bool find_grid(const float* w, int64_t count, int64_t step, IntegerLimits limits,
               float* out_scale) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i)
    if (const float size = std::fabs(w[i * step]); !(size <= largest)) largest = size;
  *out_scale = 1;
  if (largest == 0) return true;
  if (!std::isfinite(largest)) return false;
  // The largest scale of which all are multiples to the last digit is the one that they were
  // computed with. Else the smallest is best: of weights that are no multiples, it keeps the most.
  bool is_found = false;
  const int32_t most = -limits.low > limits.high ? -limits.low : limits.high;
  for (int32_t steps = 1; steps <= most; ++steps) {
    float best = largest / static_cast<float>(steps);
    int64_t exact = count_exact(w, count, step, best, steps, limits);
    if (exact < 0) continue;
    is_found = true;
    // The quotient is rounded: a neighbour may be the scale.
    float below = best;
    float above = best;
    for (int i = 0; i < 2 && exact < count; ++i) {
      below = std::nextafter(below, 0.0f);
      above = std::nextafter(above, 2 * above);
      for (const float other : {below, above})
        if (const int64_t more = count_exact(w, count, step, other, steps, limits); more > exact) {
          exact = more;
          best = other;
        }
    }
    *out_scale = best;
    if (exact == count) break;
  }
  return is_found;
}

// Gives the integers of weights on a grid, by their smallest and largest.
struct IntegerRange {
  int32_t low = 0;
  int32_t high = 0;
};
IntegerRange integers_of(const float* w, int64_t count, int64_t step, float scale) {
  IntegerRange range;
  for (int64_t i = 0; i < count; ++i) {
    const auto q = static_cast<int32_t>(std::nearbyint(w[i * step] / scale));
    if (q < range.low) range.low = q;
    if (q > range.high) range.high = q;
  }
  return range;
}

}  // namespace

bool find_channel_grid(const float* w, int64_t count, int64_t step, float* out_scale) {
  return find_grid(w, count, step, kSignedBytes, out_scale);
}

bool find_block_grid(const float* w, int64_t count, int64_t step, int32_t bits, WeightGrid* out) {
  const int32_t span = (1 << bits) - 1;
  if (!find_grid(w, count, step, {-span, span, span}, &out->scale)) return false;
  out->zero = -integers_of(w, count, step, out->scale).low;
  return true;
}

WeightBlocks find_blocks(const float* w, int64_t depth, int64_t columns) {
  if (depth < kMinBlock || depth > kMaxBlockedDepth) return {};
  int32_t whole = kMinBlock;
  while (whole < depth) whole *= 2;
  for (const int32_t bits : {4, 8})
    for (int32_t size = whole; size >= kMinBlock; size /= 2) {
      bool is_found = true;
      bool has_steps = false;
      bool has_scales = bits == 8;
      float scale = 0;
      for (int64_t first = 0; first < depth && is_found; first += size)
        for (int64_t column = 0; column < columns && is_found; ++column) {
          const int64_t count = depth - first < size ? depth - first : size;
          const float* const block = w + first * columns + column;
          WeightGrid grid;
          is_found = find_block_grid(block, count, columns, bits, &grid);
          if (!is_found || (has_steps && has_scales)) continue;
          const IntegerRange range = integers_of(block, count, columns, grid.scale);
          // Integers of 2 bits are three steps apart.
          has_steps = has_steps || range.high - range.low >= (bits == 4 ? 3 : 16);
          if (range.high == range.low) continue;
          has_scales = has_scales || (scale != 0 && grid.scale != scale);
          scale = grid.scale;
        }
      if (is_found) return has_steps && has_scales ? WeightBlocks{bits, size} : WeightBlocks{};
    }
  return {};
}

void pack_block_panel(const float* src, int64_t columns, int64_t stride, int64_t depth,
                      WeightBlocks blocks, uint8_t* dst) {
  for (int64_t first = 0; first < depth; first += blocks.size) {
    const int64_t count = depth - first < blocks.size ? depth - first : blocks.size;
    const int64_t bytes = block_bytes(blocks.bits, count);
    __builtin_memset(dst, 0, static_cast<size_t>(bytes));
    uint8_t* const zeros = dst + kChannelPanel * sizeof(float);
    uint8_t* const integers = dst + block_header_bytes(blocks.bits);
    for (int64_t column = 0; column < columns; ++column) {
      const float* const w = src + first * stride + column;
      WeightGrid grid;
      [[maybe_unused]] const bool is_found = find_block_grid(w, count, stride, blocks.bits, &grid);
      assert(is_found);
      __builtin_memcpy(dst + column * static_cast<int64_t>(sizeof(float)), &grid.scale,
                       sizeof(float));
      const auto zero = static_cast<uint8_t>(grid.zero);
      if (blocks.bits == 8)
        zeros[column] = zero;
      else
        zeros[column % 8] |= static_cast<uint8_t>(zero << column / 8 * 4);
      for (int64_t i = 0; i < count; ++i) {
        const auto q = static_cast<uint8_t>(
            static_cast<int32_t>(std::nearbyint(w[i * stride] / grid.scale)) + grid.zero);
        if (blocks.bits == 8)
          integers[i * kChannelPanel + column] = q;
        else
          integers[i / 2 * kChannelPanel + column] |= static_cast<uint8_t>(q << i % 2 * 4);
      }
    }
    dst += bytes;
  }
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
