// Makes floats of weights that are integers in blocks (block_panels.h), in registers for a row, and
// in memory for several. This is Highway code, compiled once per target.
//
// A weight is multiplied by its block's scale before it is added up, not the sum of a block behind:
// so the results of floats, halves and integers are made of the same additions.
#if defined(CODL_KERNELS_COMMON_BLOCK_PANELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_BLOCK_PANELS_INL_H
#undef CODL_KERNELS_COMMON_BLOCK_PANELS_INL_H
#else
#define CODL_KERNELS_COMMON_BLOCK_PANELS_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/gemm/block_panels.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

using PanelByteTag = hwy::HWY_NAMESPACE::Rebind<uint8_t, PanelTag>;
using PanelInt32Tag = hwy::HWY_NAMESPACE::RebindToSigned<PanelTag>;
using PanelInt32Vec = hwy::HWY_NAMESPACE::Vec<PanelInt32Tag>;

// A row is multiplied by so many panels at once: one has enough sums but where it is one vector.
constexpr int kBlockPanels = kPanelVectors == 1 ? 2 : 1;
// Scalar code, which has 16 of them, is there to be right.
constexpr int kUnrolledVectors = kPanelVectors > 4 ? 1 : kPanelVectors;

// Sixteen weights of a depth.
using PanelDepth = PanelVec[kPanelVectors];

// Holds what makes floats of a block's integers. (A constructor, which Highway's vectors of NEON
// have, would not be compiled for their target.)
struct BlockHeader {
#if HWY_TARGET == HWY_NEON
  float32x4_t zeros[kPanelVectors];  // and 2^23
  float32x4_t scales[kPanelVectors];
#else
  PanelDepth zeros;
  PanelDepth scales;
#endif
};

#if HWY_TARGET == HWY_NEON
// Makes floats of bytes and 2^23: their bits are 0x4b0000 and the byte. Cortex-A76 converts
// integers in one of its two pipes only (Neoverse N1 in llvm-mca-19, two depths: 24 cycles, so 20).
HWY_INLINE void add_to_large(uint8x16_t bytes, float32x4_t (&numbers)[kPanelVectors]) {
  const uint16x8_t high = vdupq_n_u16(0x4b00);
  const uint16x8_t first = vmovl_u8(vget_low_u8(bytes));
  const uint16x8_t last = vmovl_high_u8(bytes);
  numbers[0] = vreinterpretq_f32_u16(vzip1q_u16(first, high));
  numbers[1] = vreinterpretq_f32_u16(vzip2q_u16(first, high));
  numbers[2] = vreinterpretq_f32_u16(vzip1q_u16(last, high));
  numbers[3] = vreinterpretq_f32_u16(vzip2q_u16(last, high));
}
#endif

template <int kBits>
HWY_INLINE void load_header(const uint8_t* block, BlockHeader& header) {
  const auto* const scales = reinterpret_cast<const float*>(block);
  const uint8_t* zeros = block + kChannelPanel * sizeof(float);
#if HWY_TARGET == HWY_NEON
#pragma GCC unroll 4
  for (int v = 0; v < kPanelVectors; ++v) header.scales[v] = vld1q_f32(scales + 4 * v);
  if constexpr (kBits == 8) {
    add_to_large(vld1q_u8(zeros), header.zeros);
  } else {
    const uint8x8_t both = vld1_u8(zeros);
    add_to_large(vcombine_u8(vand_u8(both, vdup_n_u8(15)), vshr_n_u8(both, 4)), header.zeros);
  }
#else
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  uint64_t bytes[2];
  __builtin_memcpy(bytes, zeros, kBits == 8 ? 16 : 8);
  if constexpr (kBits == 4) {
    constexpr uint64_t kLow = 0x0f0f0f0f0f0f0f0f;
    bytes[1] = bytes[0] >> 4 & kLow;
    bytes[0] &= kLow;
  }
#pragma GCC unroll kUnrolledVectors
  for (int v = 0; v < kPanelVectors; ++v) {
#if HWY_TARGET == HWY_AVX3
    const PanelInt32Vec integers = {_mm512_cvtepu8_epi32(
        _mm_set_epi64x(static_cast<int64_t>(bytes[1]), static_cast<int64_t>(bytes[0])))};
#else
    const auto integers = hn::PromoteTo(
        PanelInt32Tag{},
        hn::LoadU(PanelByteTag{}, reinterpret_cast<const uint8_t*>(bytes) + v * kPanelLanes));
#endif
    header.zeros[v] = hn::ConvertTo(d, integers);
    header.scales[v] = hn::LoadU(d, scales + v * kPanelLanes);
  }
#endif
}

#if HWY_TARGET == HWY_NEON
HWY_INLINE void floats_of(uint8x16_t bytes, const BlockHeader& header, PanelDepth& w) {
  float32x4_t numbers[kPanelVectors];
  add_to_large(bytes, numbers);
#pragma GCC unroll 4
  for (int v = 0; v < kPanelVectors; ++v)
    w[v].raw = vmulq_f32(vsubq_f32(numbers[v], header.zeros[v]), header.scales[v]);
}
#else
HWY_INLINE PanelVec floats_of(PanelInt32Vec integers, const BlockHeader& header, int v) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::Mul(hn::Sub(hn::ConvertTo(PanelTag{}, integers), header.zeros[v]), header.scales[v]);
}
#endif

// Makes floats of the weights of two depths, of 8 bits only where there are two.
template <int kBits>
HWY_INLINE void widen_two(const uint8_t* integers, const BlockHeader& header, bool has_second,
                          PanelDepth& first, PanelDepth& second) {
#if HWY_TARGET == HWY_NEON
  const uint8x16_t bytes = vld1q_u8(integers);
  if constexpr (kBits == 4) {
    floats_of(vandq_u8(bytes, vdupq_n_u8(15)), header, first);
    floats_of(vshrq_n_u8(bytes, 4), header, second);
  } else {
    floats_of(bytes, header, first);
    floats_of(has_second ? vld1q_u8(integers + kChannelPanel) : bytes, header, second);
  }
#else
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelInt32Tag d;
#pragma GCC unroll kUnrolledVectors
  for (int v = 0; v < kPanelVectors; ++v) {
    const uint8_t* const p = integers + v * kPanelLanes;
    const PanelInt32Vec bytes = hn::PromoteTo(d, hn::LoadU(PanelByteTag{}, p));
    if constexpr (kBits == 4) {
      first[v] = floats_of(hn::And(bytes, hn::Set(d, 15)), header, v);
      second[v] = floats_of(hn::ShiftRight<4>(bytes), header, v);
    } else {
      first[v] = floats_of(bytes, header, v);
      second[v] =
          has_second
              ? floats_of(hn::PromoteTo(d, hn::LoadU(PanelByteTag{}, p + kChannelPanel)), header, v)
              : first[v];
    }
  }
#endif
}

// Calls `each` with the depths of each pair of a panel, whether it has a second one, and its
// weights in kPanels panels that follow each other.
template <int kBits, int kPanels, class Each>
HWY_INLINE void each_pair(const uint8_t* panel, int64_t depth, int32_t size, const Each& each) {
  const int64_t panel_bytes = block_panel_bytes({kBits, size}, depth);
  for (int64_t begin = 0; begin < depth; begin += size) {
    const int64_t end = depth - begin < size ? depth : begin + size;
    BlockHeader headers[kPanels];
#pragma GCC unroll 2
    for (int i = 0; i < kPanels; ++i) load_header<kBits>(panel + i * panel_bytes, headers[i]);
    const uint8_t* integers = panel + block_header_bytes(kBits);
    int64_t k = begin;
    for (; k + 2 <= end; k += 2, integers += 2 * kChannelPanel * kBits / 8) {
      PanelDepth first[kPanels];
      PanelDepth second[kPanels];
#pragma GCC unroll 2
      for (int i = 0; i < kPanels; ++i)
        widen_two<kBits>(integers + i * panel_bytes, headers[i], true, first[i], second[i]);
      each(k, true, first, second);
    }
    if (k < end) {
      PanelDepth first[kPanels];
      PanelDepth second[kPanels];
#pragma GCC unroll 2
      for (int i = 0; i < kPanels; ++i)
        widen_two<kBits>(integers + i * panel_bytes, headers[i], false, first[i], second[i]);
      each(k, false, first, second);
    }
    panel += block_bytes(kBits, end - begin);
  }
}

// Makes floats, or halves, of the weights of a panel, in the order of MatMulPanels.
template <int kBits, class T>
HWY_NOINLINE void widen_panel(const uint8_t* panel, int64_t depth, int32_t size, T* to) {
  each_pair<kBits, 1>(
      panel, depth, size,
      [&](int64_t k, bool has_second, const PanelDepth(&first)[1], const PanelDepth(&second)[1])
          HWY_ATTR {
            T* at = to + k * kChannelPanel;
#pragma GCC unroll kUnrolledVectors
            for (int v = 0; v < kPanelVectors; ++v) {
              store_floats(PanelTag{}, first[0][v], at + v * kPanelLanes);
              if (has_second)
                store_floats(PanelTag{}, second[0][v], at + kChannelPanel + v * kPanelLanes);
            }
          });
}

// Adds up a row times kPanels panels, as the tiles of panel_tile-inl.h do it.
template <int kBits, int kPanels, class T>
HWY_NOINLINE void multiply_row(const T* x, const uint8_t* panel, int64_t depth, int32_t size,
                               const float* bias, float* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  const bool is_short = depth <= kShortSum;
  PanelVec sums[kPanels][kPanelVectors];
#pragma GCC unroll 2
  for (int i = 0; i < kPanels; ++i)
#pragma GCC unroll kUnrolledVectors
    for (int v = 0; v < kPanelVectors; ++v)
      sums[i][v] =
          is_short ? hn::LoadU(d, bias + i * kChannelPanel + v * kPanelLanes) : hn::Zero(d);
  each_pair<kBits, kPanels>(panel, depth, size,
                            [&](int64_t k, bool has_second, const PanelDepth(&first)[kPanels],
                                const PanelDepth(&second)[kPanels]) HWY_ATTR {
                              const PanelVec x_first = spread_float(d, x + k);
#pragma GCC unroll 2
                              for (int i = 0; i < kPanels; ++i)
#pragma GCC unroll kUnrolledVectors
                                for (int v = 0; v < kPanelVectors; ++v)
                                  add_product(x_first, first[i][v], sums[i][v]);
                              if (!has_second) return;
                              const PanelVec x_second = spread_float(d, x + k + 1);
#pragma GCC unroll 2
                              for (int i = 0; i < kPanels; ++i)
#pragma GCC unroll kUnrolledVectors
                                for (int v = 0; v < kPanelVectors; ++v)
                                  add_product(x_second, second[i][v], sums[i][v]);
                            });
#pragma GCC unroll 2
  for (int i = 0; i < kPanels; ++i)
#pragma GCC unroll kUnrolledVectors
    for (int v = 0; v < kPanelVectors; ++v) {
      const int lane = i * kChannelPanel + v * kPanelLanes;
      hn::StoreU(is_short ? sums[i][v] : hn::Add(sums[i][v], hn::LoadU(d, bias + lane)), d,
                 to + lane);
    }
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_BLOCK_PANELS_INL_H
