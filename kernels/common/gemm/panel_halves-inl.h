// Holds the micro-kernel of panel_tile-inl.h for processors that compute with halves, ARMv8.2's
// fp16. This is Highway code; other targets have FloatSums<Half> alone.
//
// Sums of at most kHalfSumProducts products are halves. Then they are added to floats: of 1024
// products of one sign and size, the last would each be off by 2^-11 of their sum. Which products
// make a sum depends on the taps and their depth alone: whole taps, as many as fit, or pieces of
// one tap that has more. So results are equal bit by bit whatever the tile, the task or the part.
#if defined(CODL_KERNELS_COMMON_PANEL_HALVES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_PANEL_HALVES_INL_H
#undef CODL_KERNELS_COMMON_PANEL_HALVES_INL_H
#else
#define CODL_KERNELS_COMMON_PANEL_HALVES_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_NEON

template <int kPixels, int kVectors>
using HalfTileSums = HalfVec[kPixels][kVectors];

// Adds the products of the inputs' lane kLane. `w` are its weights, kStride elements from panel to
// panel; those of the lane behind it take their place. They are on their way while `w` is
// multiplied, which the in-order processors would otherwise wait for: 194 cycles for 128
// multiply-adds instead of 97, as llvm-mca 19 simulates a Cortex-A55.
template <int kLane, int kPixels, int kVectors>
HWY_INLINE void add_half_lane(HalfTileSums<kPixels, kVectors>& sums, const HalfVec* x, HalfVec* w,
                              const Half* weights, int64_t panel_elements) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    HalfVec next = w[v];
    if constexpr (kLane + 1 < kHalfLanes) {
      next = load_halves(weights + (kLane + 1) * kChannelPanel + v / 2 * panel_elements +
                         v % 2 * kHalfLanes);
      asm volatile("" : "+w"(next));  // GCC 12 would move it to where it is used
    }
#pragma GCC unroll 8
    for (int pixel = 0; pixel < kPixels; ++pixel)
      add_half_products<kLane>(w[v], x[pixel], sums[pixel][v]);
    w[v] = next;
  }
}

template <int kPixels, int kPanels, int kLastVectors>
CODL_HALF_ARITHMETIC HWY_NOINLINE void compute_half_tile(const PanelTile<Half>& tile,
                                                         const PanelEnd& end) {
  constexpr int kVectors = (kPanels - 1) * 2 + kLastVectors;
  const int64_t panel_elements = tile.panel_elements;
  float* const totals = end.y;
  const int64_t stride = end.y_stride;
  for (int pixel = 0; pixel < kPixels; ++pixel)
    __builtin_memcpy(totals + pixel * stride, tile.bias, kVectors * kHalfLanes * sizeof(float));

  const Half* const* inputs = tile.inputs;
  uintptr_t ahead = tile.ahead;
  int64_t tap = 0;
  int64_t done = 0;  // channels of the tap
  while (tap < tile.tap_count) {
    HalfTileSums<kPixels, kVectors> sums;
#pragma GCC unroll 8
    for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[pixel][v] = vdupq_n_u16(0);

    for (int64_t room = kHalfSumProducts; tap < tile.tap_count;) {
      const int64_t left = tile.depth - done;
      const int64_t count = left < kHalfSumProducts ? left : kHalfSumProducts;
      if (count > room) break;
      room -= count;
      const Half* weights = tile.weights + tile.taps[tap].weight_offset + done * kChannelPanel;
      int64_t channel = tile.first_channel + tile.taps[tap].input_offset + done;
      const int64_t channel_end = channel + count;
      HalfVec x[kPixels];
      for (; channel + kHalfLanes <= channel_end;
           channel += kHalfLanes, weights += kHalfLanes * kChannelPanel) {
        HalfVec w[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          w[v] = load_halves(weights + v / 2 * panel_elements + v % 2 * kHalfLanes);
#pragma GCC unroll 8
        for (int pixel = 0; pixel < kPixels; ++pixel)
          x[pixel] = load_halves(inputs[pixel] + channel);
        add_half_lane<0, kPixels, kVectors>(sums, x, w, weights, panel_elements);
        add_half_lane<1, kPixels, kVectors>(sums, x, w, weights, panel_elements);
        add_half_lane<2, kPixels, kVectors>(sums, x, w, weights, panel_elements);
        add_half_lane<3, kPixels, kVectors>(sums, x, w, weights, panel_elements);
        add_half_lane<4, kPixels, kVectors>(sums, x, w, weights, panel_elements);
        add_half_lane<5, kPixels, kVectors>(sums, x, w, weights, panel_elements);
        add_half_lane<6, kPixels, kVectors>(sums, x, w, weights, panel_elements);
        add_half_lane<7, kPixels, kVectors>(sums, x, w, weights, panel_elements);
        for (int64_t line = 0; line < 2 * kAheadBytes<Half>; line += 64)
          __builtin_prefetch(reinterpret_cast<const void*>(ahead + line), 0, 2);
        ahead += 2 * kAheadBytes<Half>;
      }
#pragma GCC unroll 1
      for (; channel < channel_end; ++channel, weights += kChannelPanel) {
#pragma GCC unroll 8
        for (int pixel = 0; pixel < kPixels; ++pixel)
          x[pixel] = vld1q_dup_u16(&inputs[pixel][channel].bits);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const HalfVec w = load_halves(weights + v / 2 * panel_elements + v % 2 * kHalfLanes);
#pragma GCC unroll 8
          for (int pixel = 0; pixel < kPixels; ++pixel)
            add_half_products<0>(w, x[pixel], sums[pixel][v]);
        }
      }
      done += count;
      if (done < tile.depth) continue;
      done = 0;
      ++tap;
      inputs += tile.tap_step;
    }

#pragma GCC unroll 8
    for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        add_halves_to_floats(sums[pixel][v], totals + pixel * stride + v * kHalfLanes);
  }
}

// Names that micro-kernel, as FloatSums names the other.
struct HalfSums {
  using Element = Half;
  static constexpr PanelTileSize kSize = kHalfTileSize;
  static_assert(kSize.pixels <= kMaxTilePixels && kSize.narrow_pixels <= kMaxTilePixels);
  template <int kPixels, int kPanels, int kLastVectors>
  static constexpr TileFunction<Half> kFunction = compute_half_tile<kPixels, kPanels, kLastVectors>;
};

#endif

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_PANEL_HALVES_INL_H
