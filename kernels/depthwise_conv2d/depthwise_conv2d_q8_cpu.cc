// Depthwise 2-D convolution of operands of 8 bits, Nhwc, with vectors along the channels.
//
// A dot product of four bytes takes four taps of a channel: rows of the filter. So the bytes of
// four rows of the map, at one column, are brought together channel by channel ("interleaved"),
// once for all the outputs of a part of a row whose windows have that column, and where the four
// rows are those of two output rows' windows (3x3 of stride 1), for both. Rows and columns outside
// the map, and rows beyond the filter's, are a pixel of zero points; the weights of the latter are
// zeros.
//
// Interleaving splits a vector into four with a quarter of each 16 channels; rounding to bytes
// brings them together again. Scales and weights are brought into that order first.
//
// Longer than 500 lines: each target interleaves, adds and rounds by instructions of its own.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_conv2d/depthwise_conv2d_q8_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

constexpr int kGroup = DepthwiseByteWork::kRowGroup;  // filter rows in a dot product

// Says how numbers of quanta become bytes.
struct ByteLimits {
  int16_t zero_point = 0;
  int8_t low = 0;
  int8_t high = 0;

  ByteLimits() = default;
  explicit ByteLimits(const ByteScales& scales)
      : zero_point(static_cast<int16_t>(scales.y.zero_point)),
        low(static_cast<int8_t>(nearest(scales.low) + scales.y.zero_point)),
        high(static_cast<int8_t>(nearest(scales.high) + scales.y.zero_point)) {}

 private:
  static int32_t nearest(float quanta) {
    return hwy::HWY_NAMESPACE::GetLane(hwy::HWY_NAMESPACE::NearestInt(
        hwy::HWY_NAMESPACE::Set(hwy::HWY_NAMESPACE::CappedTag<float, 1>{}, quanta)));
  }
};

// Each class has what a block of channels takes: its bytes, a quarter of its channels with four
// rows (kQuadBytes in memory, weights as inputs), a quarter's sums. Sums are kept of kSumRows
// output rows at once. gather() brings together 16 bytes of each panel, and moved()
// moves the rows of their fours down; what leaves `before` comes in.
#if HWY_TARGET == HWY_AVX3
struct BlockDots {
  using Bytes = __m512i;
  using Quads = __m512i;
  using Sum = __m512i;
  static constexpr int kChannels = 64;
  static constexpr int kQuadBytes = 64;
  static constexpr int kSumRows = 2;
  static constexpr int32_t kShift = 128;   // is added to the inputs
  static constexpr int32_t kSumStart = 0;  // is added to narrow sums

  static HWY_INLINE __mmask64 first(int64_t count) {
    return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
  }
  static HWY_INLINE Bytes load(const int8_t* p) { return _mm512_loadu_si512(p); }
  static HWY_INLINE Bytes load_some(const int8_t* p, int64_t count) {
    return _mm512_maskz_loadu_epi8(first(count), p);
  }
  static HWY_INLINE void interleave(const Bytes* rows, Quads* quads) {
    const Bytes shift = _mm512_set1_epi8(-128);
    const Bytes a = _mm512_xor_si512(_mm512_unpacklo_epi8(rows[0], rows[1]), shift);
    const Bytes b = _mm512_xor_si512(_mm512_unpackhi_epi8(rows[0], rows[1]), shift);
    const Bytes c = _mm512_xor_si512(_mm512_unpacklo_epi8(rows[2], rows[3]), shift);
    const Bytes d = _mm512_xor_si512(_mm512_unpackhi_epi8(rows[2], rows[3]), shift);
    quads[0] = _mm512_unpacklo_epi16(a, c);
    quads[1] = _mm512_unpackhi_epi16(a, c);
    quads[2] = _mm512_unpacklo_epi16(b, d);
    quads[3] = _mm512_unpackhi_epi16(b, d);
  }
  static HWY_INLINE Bytes gather(const int8_t* p, const int64_t* offsets) {
    const auto panel = [&](int64_t i) HWY_ATTR {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + offsets[i]));
    };
    const __m512i first = _mm512_inserti32x4(_mm512_castsi128_si512(panel(0)), panel(1), 1);
    const __m256i last = _mm256_inserti128_si256(_mm256_castsi128_si256(panel(2)), panel(3), 1);
    return _mm512_inserti64x4(first, last, 1);
  }
  static HWY_INLINE Bytes moved(Bytes quads, Bytes before, int32_t rows) {
    return _mm512_or_si512(_mm512_sll_epi32(quads, _mm_cvtsi32_si128(8 * rows)),
                           _mm512_srl_epi32(before, _mm_cvtsi32_si128(32 - 8 * rows)));
  }
  static HWY_INLINE Quads weights_of(Bytes quads) { return quads; }
  static HWY_INLINE Quads load_quads(const int8_t* p) { return _mm512_loadu_si512(p); }
  static HWY_INLINE void store_quads(Quads quads, int8_t* p) { _mm512_storeu_si512(p, quads); }
  static HWY_INLINE Sum begin(const int32_t* start) { return _mm512_loadu_si512(start); }
  static HWY_INLINE void add(Quads x, Quads w, Sum& sum) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
  }
  static HWY_INLINE void store(Sum sum, int32_t* to) { _mm512_storeu_si512(to, sum); }

  // Packing takes quarters back into the channels' order.
  static HWY_INLINE Bytes round(const int32_t* sums, const float* factors, const float* offsets,
                                const ByteLimits& limits) {
    __m512i rounded[4];
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q)
      rounded[q] = _mm512_cvtps_epi32(
          _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(sums + q * 16)),
                          _mm512_loadu_ps(factors + q * 16), _mm512_loadu_ps(offsets + q * 16)));
    const __m512i zero_point = _mm512_set1_epi16(limits.zero_point);
    const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), zero_point);
    const __m512i last = _mm512_adds_epi16(_mm512_packs_epi32(rounded[2], rounded[3]), zero_point);
    return _mm512_min_epi8(
        _mm512_max_epi8(_mm512_packs_epi16(first, last), _mm512_set1_epi8(limits.low)),
        _mm512_set1_epi8(limits.high));
  }
  static HWY_INLINE void store_bytes(Bytes bytes, int8_t* to) { _mm512_storeu_si512(to, bytes); }
};
#elif HWY_TARGET == HWY_AVX2
struct BlockDots {
  using Bytes = __m256i;
  struct Quads {
    __m256i even, odd;  // bytes, as 16 bits
  };
  using Sum = __m256i;
  static constexpr int kChannels = 32;
  static constexpr int kQuadBytes = 64;
  static constexpr int kSumRows = 1;
  static constexpr int32_t kShift = 0;
  static constexpr int32_t kSumStart = 0;

  static HWY_INLINE Bytes load(const int8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static HWY_INLINE Bytes load_some(const int8_t* p, int64_t count) {
    int8_t some[kChannels] = {};
    __builtin_memcpy(some, p, static_cast<size_t>(count));
    return load(some);
  }
  static HWY_INLINE Quads widened(__m256i quads) {
    return {_mm256_srai_epi16(_mm256_slli_epi16(quads, 8), 8), _mm256_srai_epi16(quads, 8)};
  }
  static HWY_INLINE void interleave(const Bytes* rows, Quads* quads) {
    const Bytes a = _mm256_unpacklo_epi8(rows[0], rows[1]);
    const Bytes b = _mm256_unpackhi_epi8(rows[0], rows[1]);
    const Bytes c = _mm256_unpacklo_epi8(rows[2], rows[3]);
    const Bytes d = _mm256_unpackhi_epi8(rows[2], rows[3]);
    quads[0] = widened(_mm256_unpacklo_epi16(a, c));
    quads[1] = widened(_mm256_unpackhi_epi16(a, c));
    quads[2] = widened(_mm256_unpacklo_epi16(b, d));
    quads[3] = widened(_mm256_unpackhi_epi16(b, d));
  }
  static HWY_INLINE Bytes gather(const int8_t* p, const int64_t* offsets) {
    const auto panel = [&](int64_t i) HWY_ATTR {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + offsets[i]));
    };
    return _mm256_inserti128_si256(_mm256_castsi128_si256(panel(0)), panel(1), 1);
  }
  static HWY_INLINE Bytes moved(Bytes quads, Bytes before, int32_t rows) {
    return _mm256_or_si256(_mm256_sll_epi32(quads, _mm_cvtsi32_si128(8 * rows)),
                           _mm256_srl_epi32(before, _mm_cvtsi32_si128(32 - 8 * rows)));
  }
  static HWY_INLINE Quads weights_of(Bytes quads) { return widened(quads); }
  static HWY_INLINE Quads load_quads(const int8_t* p) { return {load(p), load(p + 32)}; }
  static HWY_INLINE void store_quads(const Quads& quads, int8_t* p) {
    store_bytes(quads.even, p);
    store_bytes(quads.odd, p + 32);
  }
  static HWY_INLINE Sum begin(const int32_t* start) {
    return load(reinterpret_cast<const int8_t*>(start));
  }
  static HWY_INLINE void add(const Quads& x, const Quads& w, Sum& sum) {
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x.even, w.even));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x.odd, w.odd));
  }
  static HWY_INLINE void store(Sum sum, int32_t* to) {
    store_bytes(sum, reinterpret_cast<int8_t*>(to));
  }

  static HWY_INLINE Bytes round(const int32_t* sums, const float* factors, const float* offsets,
                                const ByteLimits& limits) {
    __m256i rounded[4];
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q)
      rounded[q] = _mm256_cvtps_epi32(_mm256_fmadd_ps(_mm256_cvtepi32_ps(begin(sums + q * 8)),
                                                      _mm256_loadu_ps(factors + q * 8),
                                                      _mm256_loadu_ps(offsets + q * 8)));
    const __m256i zero_point = _mm256_set1_epi16(limits.zero_point);
    const __m256i first = _mm256_adds_epi16(_mm256_packs_epi32(rounded[0], rounded[1]), zero_point);
    const __m256i last = _mm256_adds_epi16(_mm256_packs_epi32(rounded[2], rounded[3]), zero_point);
    return _mm256_min_epi8(
        _mm256_max_epi8(_mm256_packs_epi16(first, last), _mm256_set1_epi8(limits.low)),
        _mm256_set1_epi8(limits.high));
  }
  static HWY_INLINE void store_bytes(Bytes bytes, int8_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  }
};
#elif HWY_TARGET == HWY_NEON
struct NeonBlock {
  using Bytes = int8x16_t;
  using Quads = int8x16_t;
  static constexpr int kChannels = 16;
  static constexpr int kQuadBytes = 16;
  static constexpr int32_t kShift = 0;
  // The sum as the bits of a float, 1.5 * 2^23 + sum: many cores convert integers at a quarter of
  // the rate at which they subtract.
  static constexpr int32_t kSumStart = 0x4b400000;

  static HWY_INLINE Bytes load(const int8_t* p) { return vld1q_s8(p); }
  static HWY_INLINE Bytes load_some(const int8_t* p, int64_t count) {
    int8_t some[kChannels] = {};
    __builtin_memcpy(some, p, static_cast<size_t>(count));
    return vld1q_s8(some);
  }
  static HWY_INLINE void interleave(const Bytes* rows, Quads* quads) {
    const int16x8_t a = vreinterpretq_s16_s8(vzip1q_s8(rows[0], rows[1]));
    const int16x8_t b = vreinterpretq_s16_s8(vzip2q_s8(rows[0], rows[1]));
    const int16x8_t c = vreinterpretq_s16_s8(vzip1q_s8(rows[2], rows[3]));
    const int16x8_t d = vreinterpretq_s16_s8(vzip2q_s8(rows[2], rows[3]));
    quads[0] = vreinterpretq_s8_s16(vzip1q_s16(a, c));
    quads[1] = vreinterpretq_s8_s16(vzip2q_s16(a, c));
    quads[2] = vreinterpretq_s8_s16(vzip1q_s16(b, d));
    quads[3] = vreinterpretq_s8_s16(vzip2q_s16(b, d));
  }
  static HWY_INLINE Bytes gather(const int8_t* p, const int64_t*) { return load(p); }
  static HWY_INLINE Bytes moved(Bytes quads, Bytes before, int32_t rows) {
    const uint32x4_t left = vshlq_u32(vreinterpretq_u32_s8(quads), vdupq_n_s32(8 * rows));
    const uint32x4_t right = vshlq_u32(vreinterpretq_u32_s8(before), vdupq_n_s32(8 * rows - 32));
    return vreinterpretq_s8_u32(vorrq_u32(left, right));
  }
  static HWY_INLINE Quads weights_of(Bytes quads) { return quads; }
  static HWY_INLINE Quads load_quads(const int8_t* p) { return vld1q_s8(p); }
  static HWY_INLINE void store_quads(Quads quads, int8_t* p) { vst1q_s8(p, quads); }

  static HWY_INLINE Bytes round(const int32_t* sums, const float* factors, const float* offsets,
                                const ByteLimits& limits) {
    const float32x4_t start = vreinterpretq_f32_s32(vdupq_n_s32(kSumStart));
    int16x8_t rounded[4];
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      const float32x4_t sum = vsubq_f32(vreinterpretq_f32_s32(vld1q_s32(sums + q * 4)), start);
      const float32x4_t quanta =
          vfmaq_f32(vld1q_f32(offsets + q * 4), sum, vld1q_f32(factors + q * 4));
      rounded[q] = vreinterpretq_s16_f32(vaddq_f32(quanta, start));  // even halves are the integers
    }
    const int16x8_t zero_point = vdupq_n_s16(limits.zero_point);
    const int16x8_t first = vqaddq_s16(vuzp1q_s16(rounded[0], rounded[1]), zero_point);
    const int16x8_t last = vqaddq_s16(vuzp1q_s16(rounded[2], rounded[3]), zero_point);
    return vminq_s8(vmaxq_s8(vqmovn_high_s16(vqmovn_s16(first), last), vdupq_n_s8(limits.low)),
                    vdupq_n_s8(limits.high));
  }
  static HWY_INLINE void store_bytes(Bytes bytes, int8_t* to) { vst1q_s8(to, bytes); }
};
struct BlockDots : NeonBlock {
  struct Sum {
    int32x4_t first, last;  // two channels each, two sums of a channel
  };
  static constexpr int kSumRows = 1;
  static HWY_INLINE Sum begin(const int32_t* start) {
    // A start is the first of its channel's two sums.
    const int32x4_t starts = vld1q_s32(start);
    return {vzip1q_s32(starts, vdupq_n_s32(0)), vzip2q_s32(starts, vdupq_n_s32(0))};
  }
  static HWY_INLINE void add(Quads x, Quads w, Sum& sum) {
    sum.first = vpadalq_s16(sum.first, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
    sum.last = vpadalq_s16(sum.last, vmull_high_s8(x, w));
  }
  static HWY_INLINE void store(const Sum& sum, int32_t* to) {
    vst1q_s32(to, vpaddq_s32(sum.first, sum.last));
  }
};
// Runs where cpu_has(CpuTarget::NeonDot).
struct NeonDots : NeonBlock {
  using Sum = int32x4_t;
  static constexpr int kSumRows = 2;
  static HWY_INLINE Sum begin(const int32_t* start) { return vld1q_s32(start); }
  static HWY_INLINE void add(Quads x, Quads w, Sum& sum) {
    asm volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(w));
  }
  static HWY_INLINE void store(Sum sum, int32_t* to) { vst1q_s32(to, sum); }
};
#else
struct BlockDots {
  struct Bytes {
    int8_t bytes[16];
  };
  using Quads = Bytes;
  struct Sum {
    int32_t sums[4];
  };
  static constexpr int kChannels = 16;
  static constexpr int kQuadBytes = 16;
  static constexpr int kSumRows = 1;
  static constexpr int32_t kShift = 0;
  static constexpr int32_t kSumStart = 0;

  static HWY_INLINE Bytes load(const int8_t* p) { return load_some(p, kChannels); }
  static HWY_INLINE Bytes load_some(const int8_t* p, int64_t count) {
    Bytes some = {};
    __builtin_memcpy(some.bytes, p, static_cast<size_t>(count));
    return some;
  }
  static HWY_INLINE void interleave(const Bytes* rows, Quads* quads) {
    for (int i = 0; i < 64; ++i) quads[i / 16].bytes[i % 16] = rows[i % 4].bytes[i / 4];
  }
  static HWY_INLINE Bytes gather(const int8_t* p, const int64_t*) { return load(p); }
  static HWY_INLINE Bytes moved(const Bytes& quads, const Bytes& before, int32_t rows) {
    Bytes result;
    for (int i = 0; i < 16; ++i)
      result.bytes[i] = i % 4 < rows ? before.bytes[i + 4 - rows] : quads.bytes[i - rows];
    return result;
  }
  static HWY_INLINE Quads weights_of(const Bytes& quads) { return quads; }
  static HWY_INLINE Quads load_quads(const int8_t* p) { return load(p); }
  static HWY_INLINE void store_quads(const Quads& quads, int8_t* p) { store_bytes(quads, p); }
  static HWY_INLINE Sum begin(const int32_t* start) {
    return {{start[0], start[1], start[2], start[3]}};
  }
  static HWY_INLINE void add(const Quads& x, const Quads& w, Sum& sum) {
    for (int i = 0; i < 16; ++i) sum.sums[i / 4] += x.bytes[i] * w.bytes[i];
  }
  static HWY_INLINE void store(const Sum& sum, int32_t* to) {
    __builtin_memcpy(to, sum.sums, sizeof sum.sums);
  }
  static HWY_INLINE Bytes round(const int32_t* sums, const float* factors, const float* offsets,
                                const ByteLimits& limits) {
    Bytes bytes;
    for (int i = 0; i < 16; ++i) {
      const float quanta = static_cast<float>(sums[i]) * factors[i] + offsets[i];
      const auto q = static_cast<int32_t>(__builtin_rintf(quanta)) + limits.zero_point;
      bytes.bytes[i] = static_cast<int8_t>(q < limits.low    ? limits.low
                                           : q > limits.high ? limits.high
                                                             : q);
    }
    return bytes;
  }
  static HWY_INLINE void store_bytes(const Bytes& bytes, int8_t* to) {
    __builtin_memcpy(to, bytes.bytes, sizeof bytes.bytes);
  }
};
#endif

// ---- from rows to quads -------------------------------------------------------------------------

// Names a row of the map, or of zero points: then all columns are one pixel.
struct InputRow {
  const int8_t* column_0;
  int64_t pixel;
};
static_assert(sizeof(InputRow) <= DepthwiseByteWork::kRowBytes);

// Describes columns of the map: `count` from `first` on, each `step` further.
struct Columns {
  int64_t first;
  int64_t count;
  int64_t step;
  int64_t map_columns;
};

// Interleaves kGroup rows of them. A column has its quads in turn, `quarter_bytes` from one quarter
// of the channels to the next. A column outside the map is that of `zero_pixel`.
template <class Dots, bool kIsWhole>
HWY_NOINLINE void interleave_columns(const InputRow* rows, const Columns& columns, int64_t channels,
                                     const int8_t* zero_pixel, int64_t quarter_bytes, int8_t* to) {
  const auto put = [&](const int8_t* const* from) HWY_ATTR {
    typename Dots::Bytes bytes[kGroup];
    typename Dots::Quads quads[4];
#pragma GCC unroll 4
    for (int i = 0; i < kGroup; ++i)
      bytes[i] = kIsWhole ? Dots::load(from[i]) : Dots::load_some(from[i], channels);
    Dots::interleave(bytes, quads);
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) Dots::store_quads(quads[q], to + q * quarter_bytes);
    to += Dots::kQuadBytes;
  };
  const int8_t* const zeros[kGroup] = {zero_pixel, zero_pixel, zero_pixel, zero_pixel};
  int64_t column = columns.first;
  const int64_t end = columns.first + columns.count * columns.step;
  for (; column < 0 && column < end; column += columns.step) put(zeros);
  const int64_t inside = end < columns.map_columns ? end : columns.map_columns;
  const int8_t* from[kGroup];
  int64_t steps[kGroup];
  for (int i = 0; i < kGroup; ++i) {
    from[i] = rows[i].column_0 + column * rows[i].pixel;
    steps[i] = columns.step * rows[i].pixel;
  }
  for (; column < inside; column += columns.step) {
    put(from);
#pragma GCC unroll 4
    for (int i = 0; i < kGroup; ++i) from[i] += steps[i];
  }
  for (; column < end; column += columns.step) put(zeros);
}

// ---- sums ---------------------------------------------------------------------------------------

// Describes neighbouring outputs of a row, or of two rows, for a block of channels.
struct ByteRun {
  const int8_t* quads;  // where the first output has its first tap
  int64_t quarter_bytes;
  int64_t output_bytes;
  int64_t tap_bytes;
  int32_t row_groups;
  int32_t tap_columns;
  const int8_t* weights;  // [output rows][4 quarters][row groups][tap columns]
  const int32_t* starts;  // [4 quarters]
  int32_t* sums;          // [output rows][outputs][4 quarters]

  int64_t weight_row(int quad_bytes) const {
    return int64_t{4} * row_groups * tap_columns * quad_bytes;
  }
};

// Has what was loaded on its way here: GCC 12 would move the load to where it is used, and cores
// that keep the order of instructions would wait.
template <class Quads>
HWY_INLINE void keep_place(Quads& quads) {
#if HWY_TARGET == HWY_NEON
  asm volatile("" : "+w"(quads));
#else
  static_cast<void>(quads);
#endif
}

// Computes kCount outputs of kRows rows. A filter of kTaps columns side by side moves by kStride;
// with kTaps 0 any does.
template <class Dots, int kCount, int kRows, int kTaps, int kStride>
HWY_INLINE void add_taps(const ByteRun& run) {
  constexpr int kQuarter = Dots::kChannels / 4;
  constexpr int kWeights = kTaps == 0 ? 1 : kTaps;
  using Quads = typename Dots::Quads;
  const int8_t* w = run.weights;
  const int64_t weight_row = run.weight_row(Dots::kQuadBytes);
  const int64_t output_bytes = run.output_bytes;
  const int64_t group_bytes = 4 * run.quarter_bytes;
  const int64_t tap_bytes = run.tap_bytes;
  const int64_t tap_count = run.tap_columns;
  const int64_t group_count = run.row_groups;
  const int32_t* start = run.starts;
  int32_t* to = run.sums;
  const int8_t* quarter = run.quads;
  for (int q = 0; q < 4; ++q, quarter += run.quarter_bytes, start += kQuarter, to += kQuarter) {
    typename Dots::Sum sums[kRows][kCount];
#pragma GCC unroll 2
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) sums[row][i] = Dots::begin(start);
    Quads weights[kRows][kWeights];
    const auto load_weights = [&](int tap) HWY_ATTR {
#pragma GCC unroll 2
      for (int row = 0; row < kRows; ++row)
        weights[row][tap] = Dots::load_quads(w + row * weight_row);
      w += Dots::kQuadBytes;
    };
    const int8_t* group = quarter;
    for (int64_t g = 0; g < group_count; ++g, group += group_bytes) {
      if constexpr (kTaps > 0) {
#pragma GCC unroll 8
        for (int tap = 0; tap < kTaps; ++tap) load_weights(tap);
        constexpr int kColumns = (kCount - 1) * kStride + kTaps;
        Quads next = Dots::load_quads(group);
#pragma GCC unroll 32
        for (int column = 0; column < kColumns; ++column) {
          const Quads quads = next;
          if (column + 1 < kColumns)
            next = Dots::load_quads(group + (column + 1) * Dots::kQuadBytes);
          keep_place(next);
#pragma GCC unroll 8
          for (int tap = 0; tap < kTaps; ++tap) {
            const int i = (column - tap) / kStride;
            if (column < tap || i * kStride != column - tap || i >= kCount) continue;
#pragma GCC unroll 2
            for (int row = 0; row < kRows; ++row) Dots::add(quads, weights[row][tap], sums[row][i]);
          }
        }
      } else {
        const int8_t* x = group;
        for (int64_t tap = 0; tap < tap_count; ++tap, x += tap_bytes) {
          load_weights(0);
#pragma GCC unroll 8
          for (int i = 0; i < kCount; ++i) {
            const Quads quads = Dots::load_quads(x + i * output_bytes);
#pragma GCC unroll 2
            for (int row = 0; row < kRows; ++row) Dots::add(quads, weights[row][0], sums[row][i]);
          }
        }
      }
    }
#pragma GCC unroll 2
    for (int row = 0; row < kRows; ++row)
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i)
        Dots::store(sums[row][i], to + (row * kCount + i) * Dots::kChannels);
  }
}

template <class Dots, int kCount, int kRows, int kTaps = 0, int kStride = 1>
HWY_NOINLINE void compute_run(const ByteRun& run) {
  add_taps<Dots, kCount, kRows, kTaps, kStride>(run);
}
#if HWY_TARGET == HWY_NEON
template <class Dots, int kCount, int kRows, int kTaps = 0, int kStride = 1>
CODL_DOT_PRODUCTS HWY_NOINLINE void compute_run_with_dots(const ByteRun& run) {
  add_taps<Dots, kCount, kRows, kTaps, kStride>(run);
}
#endif

using RunFunction = void (*)(const ByteRun& run);
template <class Dots, int kCount, int kRows, int kTaps = 0, int kStride = 1>
constexpr RunFunction run_function() {
#if HWY_TARGET == HWY_NEON
  if constexpr (std::is_same_v<Dots, NeonDots>)
    return compute_run_with_dots<Dots, kCount, kRows, kTaps, kStride>;
#endif
  return compute_run<Dots, kCount, kRows, kTaps, kStride>;
}

// So many neighbouring outputs are computed at once: 7 divides the widths of most networks.
// Scalar code is there to be right.
constexpr int kMaxOutputs = HWY_TARGET == HWY_SCALAR ? 1 : 7;
constexpr int kSomeOutputs = HWY_TARGET == HWY_SCALAR ? 1 : 4;

// Holds what computes kCount outputs of a row, and of two.
struct RunFunctions {
  RunFunction of_row;
  RunFunction of_two;
};
template <class Dots, int kCount, int kTaps = 0, int kStride = 1>
constexpr RunFunctions run_functions() {
  RunFunctions functions = {run_function<Dots, kCount, 1, kTaps, kStride>(), nullptr};
  if constexpr (Dots::kSumRows == 2)
    functions.of_two = run_function<Dots, kCount, 2, kTaps, kStride>();
  return functions;
}

// Returns what computes kMaxOutputs of a filter.
template <class Dots>
RunFunctions most_outputs(const WindowAxis& horizontal) {
  const bool is_close = horizontal.dilation == 1;
  const int32_t taps = horizontal.taps;
  const int32_t stride = horizontal.stride;
  RunFunctions functions = run_functions<Dots, kMaxOutputs>();
  if (kMaxOutputs > 1 && is_close && taps == 3 && stride == 1)
    functions = run_functions<Dots, kMaxOutputs, 3, 1>();
  if constexpr (Dots::kSumRows == 2) {
    if (is_close && taps == 3 && stride == 2)
      functions.of_row = run_function<Dots, kMaxOutputs, 1, 3, 2>();
    if (is_close && taps == 5 && stride == 1)
      functions.of_two = run_function<Dots, kMaxOutputs, 2, 5, 1>();
    if (is_close && taps == 5 && stride == 2)
      functions.of_two = run_function<Dots, kMaxOutputs, 2, 5, 2>();
  }
  return functions;
}

// Computes `count` outputs of `rows` rows, at least. Returns how many: those beyond are of no use.
template <class Dots>
int compute_outputs(const ByteRun& run, const RunFunctions& of_most, int count, int rows) {
  const int computed = count == 1 ? 1 : count <= kSomeOutputs ? kSomeOutputs : kMaxOutputs;
  const RunFunctions functions = count == 1              ? run_functions<Dots, 1>()
                                 : count <= kSomeOutputs ? run_functions<Dots, kSomeOutputs>()
                                                         : of_most;
  if (rows == 2 && functions.of_two != nullptr) {
    functions.of_two(run);
    return computed;
  }
  functions.of_row(run);
  if (rows == 2) {
    ByteRun second = run;
    second.weights += run.weight_row(Dots::kQuadBytes);
    second.sums += computed * Dots::kChannels;
    functions.of_row(second);
  }
  return computed;
}

// ---- blocks of channels -------------------------------------------------------------------------

// Holds a block of channels, in scratch: weights and scales in the order of quarters.
template <class Dots>
struct Block {
  static constexpr int kChannels = Dots::kChannels;
  static constexpr int kQuarter = kChannels / 4;

  const DepthwiseByteWork work;
  ByteScales scales;  // in the channels' order
  int8_t* weights;
  int64_t taps;
  int32_t stride;  // down
  int64_t channels = 0;
  int64_t stored = 0;
  bool is_narrow = false;  // sums become bytes by Dots::round()
  ByteLimits limits = {};
  HWY_ALIGN int32_t starts[kChannels] = {};
  HWY_ALIGN float factors[kChannels] = {};
  HWY_ALIGN float offsets[kChannels] = {};
  HWY_ALIGN int8_t zero_pixel[kChannels] = {};

  // Takes the channels from `first` on.
  void fill(const TensorView& w, const float* bias, int64_t first) {
    constexpr int kPanels = kChannels / kChannelPanel;
    const int64_t panel_bytes = depthwise_panel_bytes(w.shape.dims);
    const int8_t* const panels = w.as<const int8_t>() + first / kChannelPanel * panel_bytes;
    const int64_t panels_left = ceil_div(channels, kChannelPanel);
    const int64_t panel_count = panels_left < kPanels ? panels_left : kPanels;
    // Each block begins anew: wide channels of one say nothing of the next.
    scales.is_bounded = scales.is_narrow = true;
    for (int64_t panel = 0; panel < panel_count; ++panel) {
      const BytePanelEnd end = end_of_panel(panels, panel, panel_bytes);
      scales.fill(panel, end, bias + panel * kChannelPanel, kChannelPanel, Dots::kShift);
    }
    // Sums of more products may have no room in Dots::kSumStart.
    constexpr int64_t kMaxNarrowProducts = 128;
    is_narrow = scales.is_one_step && scales.is_narrow && scales.products <= kMaxNarrowProducts;
    const int32_t begin = is_narrow ? Dots::kSumStart : 0;
    if (is_narrow) limits = ByteLimits(scales);
    for (int64_t panel = 0; panel < panel_count; ++panel)
      for (int q = 0; q < 4; ++q) {
        const int64_t from = panel * kChannelPanel + q * 4;
        const int64_t to = q * kQuarter + panel * 4;
        for (int i = 0; i < 4; ++i) starts[to + i] = scales.starts[from + i] + begin;
        __builtin_memcpy(factors + to, scales.factors + from, 4 * sizeof(float));
        __builtin_memcpy(offsets + to, scales.offsets + from, 4 * sizeof(float));
      }
    // Where there is no panel, another's weights do no harm.
    int64_t panel_offsets[kPanels];
    for (int64_t panel = 0; panel < kPanels; ++panel)
      panel_offsets[panel] = panel < panel_count ? panel * panel_bytes : 0;
    int8_t* to = weights;
    for (int32_t row = 0; row < work.output_rows; ++row)
      for (int q = 0; q < 4; ++q)
        for (int64_t group = 0; group < work.row_groups; ++group)
          for (int64_t tap = 0; tap < taps; ++tap, to += Dots::kQuadBytes) {
            const int8_t* const from =
                panels + (tap * work.row_groups + group) * kInputQuadBytes + q * 16;
            typename Dots::Bytes quads = Dots::gather(from, panel_offsets);
            // The second output's window begins `stride` rows further down.
            if (row > 0)
              quads = Dots::moved(quads,
                                  group == 0 ? typename Dots::Bytes{}
                                             : Dots::gather(from - kInputQuadBytes, panel_offsets),
                                  stride);
            Dots::store_quads(Dots::weights_of(quads), to);
          }
  }

  // Ends the sums of `count` outputs.
  void end(const int32_t* sums, int count, const PanelOutput<int8_t>& output) const {
    if (!is_narrow) return end_in_floats(sums, count, output);
    // Bytes may be stored anywhere: members would be loaded again for each output.
    const ByteLimits own = limits;
    const int64_t y_stride = output.y_stride;
    const bool is_whole = channels == kChannels;
    auto* y = reinterpret_cast<int8_t*>(output.y.p);
    for (int i = 0; i < count; ++i, sums += kChannels, y += y_stride) {
      const typename Dots::Bytes bytes = Dots::round(sums, factors, offsets, own);
      if (is_whole) {
        Dots::store_bytes(bytes, y);
        continue;
      }
#if HWY_TARGET == HWY_AVX3
      const __m512i pad = _mm512_set1_epi8(static_cast<int8_t>(own.zero_point));
      _mm512_mask_storeu_epi8(y, Dots::first(stored),
                              _mm512_mask_blend_epi8(Dots::first(channels), pad, bytes));
#else
      int8_t some[kChannels];
      Dots::store_bytes(bytes, some);
      for (int64_t lane = channels; lane < stored; ++lane)
        some[lane] = static_cast<int8_t>(own.zero_point);
      __builtin_memcpy(y, some, static_cast<size_t>(stored));
#endif
    }
  }

  void end_in_floats(const int32_t* sums, int count, const PanelOutput<int8_t>& output) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::CappedTag<float, 4> d;
    const hn::RebindToSigned<decltype(d)> ints;
    constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
    HWY_ALIGN float floats[kMaxOutputs * kChannels];
    float* to = floats;
    for (int i = 0; i < count; ++i, sums += kChannels)
      for (int panel = 0; panel < kChannels / kChannelPanel; ++panel)
        for (int lane = 0; lane < kChannelPanel; lane += kLanes, to += kLanes) {
          const int place = lane / 4 * kQuarter + panel * 4 + lane % 4;
          hn::StoreU(hn::MulAdd(hn::ConvertTo(d, hn::LoadU(ints, sums + place)),
                                hn::LoadU(d, factors + place), hn::LoadU(d, offsets + place)),
                     d, to);
        }
    PanelOutput<int8_t> panel = output;
    for (int64_t first = 0; first < channels; first += kChannelPanel) {
      const int64_t left = channels - first;
      panel.lanes = {};
      if (left <= kChannelPanel)
        panel.lanes = {static_cast<int32_t>(left), static_cast<int32_t>(stored - first)};
      if (scales.is_one_step)
        store_byte_rows(scales, floats + first, kChannels, count, 1, panel.lanes,
                        reinterpret_cast<int8_t*>(panel.y.p), panel.y_stride);
      else
        finish_bytes(panel, floats + first, kChannels, count);
      panel.y += kChannelPanel;
      if (panel.residual.p != nullptr) panel.residual += kChannelPanel;
    }
  }
};

template <class Dots>
void depthwise_bytes(const KernelArgs& args) {
  const auto& params = args.params_as<DepthwiseConv2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const TensorView& y = args.output();
  const TensorView* const residual = params.has_residual != 0 ? &args.operands[3] : nullptr;
  const WindowAxis vertical = vertical_axis(params, w.shape.dims);
  const WindowAxis horizontal = horizontal_axis(params, w.shape.dims);
  const DepthwiseConv2dWork work =
      depthwise_conv2d_work(w.shape, y.shape, args.part_dim, args.part);
  const DepthwiseByteWork byte_work = depthwise_byte_work(vertical, horizontal);
  char* const scratch = static_cast<char*>(args.scratch);
  auto* const rows = static_cast<InputRow*>(args.scratch);
  auto* const quads = reinterpret_cast<int8_t*>(scratch + byte_work.quads_offset);
  constexpr int64_t kBlock = Dots::kChannels;
  Block<Dots> block = {
      .work = byte_work,
      .scales = ByteScales(
          x.shape, residual != nullptr ? &residual->shape : nullptr, y.shape,
          make_activation(params.activation, params.activation_alpha, params.activation_beta),
          int64_t{vertical.taps} * horizontal.taps, scratch + byte_work.scales_offset,
          kBlock / kChannelPanel),
      .weights = reinterpret_cast<int8_t*>(scratch + byte_work.weights_offset),
      .taps = horizontal.taps,
      .stride = vertical.stride,
  };
  __builtin_memset(block.zero_pixel, x.shape.zero_point, sizeof block.zero_pixel);
  const RunFunctions of_most = most_outputs<Dots>(horizontal);
  HWY_ALIGN int32_t sums[2 * kMaxOutputs * kBlock];
  ByteRun run = {
      .quads = nullptr,
      .quarter_bytes = 0,
      .output_bytes = 0,
      .tap_bytes = 0,
      .row_groups = byte_work.row_groups,
      .tap_columns = horizontal.taps,
      .weights = block.weights,
      .starts = block.starts,
      .sums = sums,
  };
  PanelOutput<int8_t> output = {.activation = nullptr,
                                .y = {},
                                .y_stride = y.strides[3],
                                .lanes = {},
                                .scales = &block.scales};
  if (residual != nullptr) output.residual_stride = residual->strides[3];

  // Interleaves what `count` outputs from `column` on take.
  const auto interleave = [&](int64_t column, int64_t count) {
    Columns columns = {column * horizontal.stride - horizontal.pad_begin, 0, 1, x.shape.dims[3]};
    int64_t parts = 1;
    if (byte_work.shares_columns) {
      columns.count = (count - 1) * horizontal.stride + horizontal.taps;
      run.output_bytes = int64_t{horizontal.stride} * Dots::kQuadBytes;
      run.tap_bytes = Dots::kQuadBytes;
    } else {
      parts = horizontal.taps;
      columns.count = count;
      columns.step = horizontal.stride;
      run.output_bytes = Dots::kQuadBytes;
      run.tap_bytes = count * Dots::kQuadBytes;
    }
    run.quarter_bytes = parts * columns.count * Dots::kQuadBytes;
    const auto put =
        block.channels == kBlock ? interleave_columns<Dots, true> : interleave_columns<Dots, false>;
    for (int32_t group = 0; group < byte_work.row_groups; ++group)
      for (int64_t part = 0; part < parts; ++part) {
        Columns of_part = columns;
        of_part.first += part * horizontal.dilation;
        put(rows + group * kGroup, of_part, block.channels, block.zero_pixel, run.quarter_bytes,
            quads + 4 * group * run.quarter_bytes + part * run.tap_bytes);
      }
  };

  // Computes the block's channels of an output row, or two.
  const auto compute_rows = [&](int64_t image, int32_t row, int row_count, int64_t c) {
    const int32_t used = vertical.taps + (row_count - 1) * vertical.stride;
    for (int32_t i = 0; i < byte_work.row_groups * kGroup; ++i) {
      const int64_t input =
          int64_t{row} * vertical.stride - vertical.pad_begin + int64_t{i} * vertical.dilation;
      rows[i] = {block.zero_pixel, 0};
      if (i < used && input >= 0 && input < x.shape.dims[2])
        rows[i] = {x.as<const int8_t>() + image * x.strides[0] +
                       (input - x.shape.row_begin) * x.strides[2] + c,
                   x.strides[3]};
    }
    const ByteOrFloat y_row = PanelPointer<int8_t>::of(y) +
                              (image * y.strides[0] + (row - y.shape.row_begin) * y.strides[2] + c);
    ByteOrFloat residual_row;
    if (residual != nullptr)
      residual_row = PanelPointer<int8_t>::of(*residual) +
                     (image * residual->strides[0] +
                      (row - residual->shape.row_begin) * residual->strides[2] + c);
    const int64_t row_columns = y.shape.dims[3];
    const int64_t parts = ceil_div(row_columns, DepthwiseByteWork::kOutputs);
    const int64_t most = ceil_div(row_columns, parts);
    for (int64_t first = 0; first < row_columns; first += most) {
      const int64_t outputs = first + most < row_columns ? most : row_columns - first;
      interleave(first, outputs);
      for (int64_t i = 0; i < outputs;) {
        run.quads = quads + i * run.output_bytes;
        const int64_t left = outputs - i;
        const int wanted = static_cast<int>(left < kMaxOutputs ? left : kMaxOutputs);
        const int computed = compute_outputs<Dots>(run, of_most, wanted, row_count);
        for (int of_two = 0; of_two < row_count; ++of_two) {
          output.y = y_row + (of_two * y.strides[2] + (first + i) * output.y_stride);
          if (residual != nullptr)
            output.residual = residual_row + (of_two * residual->strides[2] +
                                              (first + i) * output.residual_stride);
          block.end(sums + of_two * computed * kBlock, wanted, output);
        }
        i += wanted;
      }
    }
  };

  // Neighbouring tasks share panels: their rows are one piece.
  for (int64_t task = args.task_begin; task < args.task_end;) {
    const int64_t panel_block = task / work.row_blocks;
    const int64_t first_block = task % work.row_blocks;
    const int64_t last_block = first_block + (args.task_end - task) < work.row_blocks
                                   ? first_block + (args.task_end - task)
                                   : work.row_blocks;
    task += last_block - first_block;
    const Units units =
        units_of_tasks(work.image_rows, static_cast<int32_t>(work.row_blocks),
                       static_cast<int32_t>(first_block), static_cast<int32_t>(last_block));
    const Units panels =
        units_of_tasks(work.panels.count(), static_cast<int32_t>(work.panel_blocks),
                       static_cast<int32_t>(panel_block), static_cast<int32_t>(panel_block) + 1);
    const int64_t end_panel = (work.panels.begin + panels.end) * kChannelPanel;
    const int64_t end = end_panel < y.shape.dims[1] ? end_panel : y.shape.dims[1];
    for (int64_t c = (work.panels.begin + panels.begin) * kChannelPanel; c < end; c += kBlock) {
      const int64_t next = c + kBlock < end ? c + kBlock : end;
      block.channels = next - c;
      block.stored = next == y.shape.dims[1] ? padded_channels(y.shape) - c : next - c;
      block.fill(w, args.operands[2].as<const float>() + c, c);
      for (int64_t unit = units.begin; unit < units.end;) {
        const int64_t row = unit % work.rows.count();
        const bool has_two =
            byte_work.output_rows == 2 && unit + 1 < units.end && row + 1 < work.rows.count();
        compute_rows(unit / work.rows.count(), work.rows.begin + static_cast<int32_t>(row),
                     has_two ? 2 : 1, c);
        unit += has_two ? 2 : 1;
      }
    }
  }
}

#if HWY_TARGET != HWY_AVX3
void depthwise_of_bytes(const KernelArgs& args) { depthwise_bytes<BlockDots>(args); }
#endif
#if HWY_TARGET == HWY_AVX3
void depthwise_with_dots(const KernelArgs& args) { depthwise_bytes<BlockDots>(args); }
#elif HWY_TARGET == HWY_NEON
void depthwise_with_dots(const KernelArgs& args) { depthwise_bytes<NeonDots>(args); }
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_DOTS(depthwise_conv2d_q8_cpu, depthwise_of_bytes, depthwise_with_dots);
}
#endif
