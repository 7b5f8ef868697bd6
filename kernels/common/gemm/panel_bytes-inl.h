// Holds the micro-kernels of Conv2d and MatMul for operands of 8 bits (byte_panels.h has the
// weights): tiles as in panel_tile-inl.h, sums of 32 bits. They are exact, so results are equal bit
// by bit however the work is cut. This is Highway code, compiled once per target.
//
// Longer than 500 lines: each target adds products in a way of its own, and what ends the sums is
// read with them.
//
// With x = sx (qx - zx) and w = sw qw, a sum of products is sx sw (sum of qx qw - zx sum of qw).
// Steps whose result is bytes and that have an activation of limits alone go from that sum to bytes
// at once: multiplied by sx sw / sy, limited, rounded half to even, plus zy. Others get floats,
// with a residual and an activation as those of floats have them, and are rounded to bytes last.
#if defined(CODL_KERNELS_COMMON_PANEL_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_PANEL_BYTES_INL_H
#undef CODL_KERNELS_COMMON_PANEL_BYTES_INL_H
#else
#define CODL_KERNELS_COMMON_PANEL_BYTES_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/gemm/byte_panels.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// ---- from sums to results -----------------------------------------------------------------------
//
// GCC would clone some of these functions for the arguments of each kernel (noclone).

using PanelIntTag = hwy::HWY_NAMESPACE::RebindToSigned<PanelTag>;
using PanelIntVec = hwy::HWY_NAMESPACE::Vec<PanelIntTag>;

// Says how the bytes of a map are read: real = scale * (byte - zero_point). Floats have scale 0.
struct ByteGrid {
  float scale = 0;
  int32_t zero_point = 0;
};
inline ByteGrid grid_of(const OperandShape& shape) { return {shape.scale, shape.zero_point}; }

// Returns the end of panel `panel` of packed weights.
inline BytePanelEnd end_of_panel(const int8_t* weights, int64_t panel, int64_t panel_bytes) {
  BytePanelEnd end;
  __builtin_memcpy(&end, weights + (panel + 1) * panel_bytes - int64_t{sizeof end}, sizeof end);
  return end;
}

// Says what becomes of a step's sums. Its arrays have kChannelPanel elements for each panel.
struct ByteScales {
  ByteGrid x;
  ByteGrid residual;
  ByteGrid y;
  Activation activation;
  // Results are bytes from sums at once: `factors` and `offsets` count quanta of y.
  bool is_one_step = false;
  float low = 0;  // limits of a result in quanta of y, from its zero point
  float high = 0;
  int64_t products = 0;    // an output is a sum of so many
  bool is_bounded = true;  // no number of quanta comes near the limits of 32 bits
  bool is_narrow = true;   // nor near those of 16 bits
  float* factors = nullptr;
  float* offsets = nullptr;
  int32_t* starts = nullptr;  // sums begin with these

  ByteScales(const OperandShape& x_shape, const OperandShape* residual_shape,
             const OperandShape& y_shape, const Activation& end, int64_t product_count,
             void* scratch, int64_t panels)
      : x(grid_of(x_shape)), y(grid_of(y_shape)), activation(end), products(product_count) {
    if (residual_shape != nullptr) residual = grid_of(*residual_shape);
    factors = static_cast<float*>(scratch);
    offsets = factors + panels * kChannelPanel;
    starts = reinterpret_cast<int32_t*>(offsets + panels * kChannelPanel);
    if (y.scale == 0) return;
    const float lowest = static_cast<float>(-128 - y.zero_point);
    // Rounding to the result's own grid is what is done anyway.
    if (end.kind == kUnaryQuantize8 && end.alpha == y.scale && end.beta == -lowest)
      activation = make_activation(kUnaryIdentity, 0, 0);
    is_one_step = residual_shape == nullptr && !activation.has_curve;
    low = lowest;
    high = lowest + 255;
    if (!is_one_step) return;
    const float activation_low = activation.low / y.scale;
    const float activation_high = activation.high / y.scale;
    if (activation_low > low) low = activation_low < high ? activation_low : high;
    if (activation_high < high) high = activation_high > low ? activation_high : low;
  }

  // Fills the arrays for one panel. `channels` of its lanes have a bias. `shift` is added to the
  // inputs before they are multiplied.
  HWY_NOINLINE __attribute__((noclone)) void fill(int64_t panel, const BytePanelEnd& end,
                                                  const float* bias, int32_t channels,
                                                  int32_t shift = 0) {
    namespace hn = hwy::HWY_NAMESPACE;
    using Ints = PanelIntTag;
    const PanelTag d;
    float some[kChannelPanel] = {};
    if (channels < kChannelPanel) {
      for (int32_t lane = 0; lane < channels; ++lane) some[lane] = bias[lane];
      bias = some;
    }
    constexpr float kLargestProduct = 255 * 128;
    const PanelVec largest = hn::Set(d, kLargestProduct * static_cast<float>(products));
    const PanelVec x_scale = hn::Set(d, x.scale);
    const PanelVec quantum = hn::Set(d, is_one_step ? y.scale : 1.0f);
    const auto zero_point = hn::Set(Ints{}, -x.zero_point - shift);
    for (int32_t lane = 0; lane < kChannelPanel; lane += kPanelLanes) {
      const int64_t i = panel * kChannelPanel + lane;
      const PanelVec factor = hn::Div(hn::Mul(x_scale, hn::LoadU(d, end.scales + lane)), quantum);
      const PanelVec offset = hn::Div(hn::LoadU(d, bias + lane), quantum);
      hn::StoreU(factor, d, factors + i);
      hn::StoreU(offset, d, offsets + i);
      hn::StoreU(hn::Mul(zero_point, hn::LoadU(Ints{}, end.sums + lane)), Ints{}, starts + i);
      // A comparison with a NaN is false.
      const PanelVec most = hn::MulAdd(largest, factor, hn::Abs(offset));
      is_bounded = is_bounded && hn::AllTrue(d, hn::Lt(most, hn::Set(d, 1e9f)));
      is_narrow = is_narrow && hn::AllTrue(d, hn::Lt(most, hn::Set(d, 3e4f)));
    }
  }
};

template <>
struct PanelTile<int8_t> {
  const int8_t* const* inputs;
  int64_t tap_step = 0;
  const PanelTap* taps = &kOneTap;
  int64_t tap_count = 1;
  int64_t first_channel = 0;
  int64_t depth;
  int64_t panel_elements;
  const int8_t* weights;
  const float* bias;
  uintptr_t ahead;
  int32_t pixel_count;
  // From ByteScales, for the tile's first panel; run_tile() sets them.
  const float* factors = nullptr;
  const float* offsets = nullptr;
  const int32_t* starts = nullptr;
  // 128 times the sum of each pixel's inputs, which sum_inputs() sets. There is room for fours.
  int32_t input_sums[kPanelTileMaxPixels + 2] = {};
};

// Rounds numbers of quanta within the limits to bytes.
HWY_INLINE void store_bytes(PanelVec v, PanelVec low, PanelVec high, PanelIntVec zero_point,
                            int8_t* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelVec limited = hn::Min(hn::Max(v, low), high);
#if HWY_TARGET == HWY_AVX3
  const __m512i rounded = _mm512_add_epi32(_mm512_cvtps_epi32(limited.raw), zero_point.raw);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(rounded));
#else
  const hn::Rebind<int8_t, PanelTag> d;
  hn::StoreU(hn::DemoteTo(d, hn::Add(hn::NearestInt(limited), zero_point)), d, to);
#endif
}

#if HWY_TARGET == HWY_AVX3
// Rounds four vectors of bounded numbers to bytes, one behind the other. Packing limits them.
HWY_INLINE __m512i bytes_of(const ByteScales& scales, const float* const (&from)[4]) {
  __m512i rounded[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) rounded[i] = _mm512_cvtps_epi32(_mm512_loadu_ps(from[i]));
  const __m512i zero_point = _mm512_set1_epi16(static_cast<int16_t>(scales.y.zero_point));
  const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), zero_point);
  const __m512i last = _mm512_adds_epi16(_mm512_packs_epi32(rounded[2], rounded[3]), zero_point);
  const auto limit = [&](float quanta) {
    return _mm512_set1_epi8(
        static_cast<int8_t>(_mm_cvtss_si32(_mm_set_ss(quanta)) + scales.y.zero_point));
  };
  const __m512i bytes = _mm512_min_epi8(
      _mm512_max_epi8(_mm512_packs_epi16(first, last), limit(scales.low)), limit(scales.high));
  // A lane of 128 bits has a quarter of each vector.
  return _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
}

// Does it for rows of whole panels, 1 or 2.
HWY_INLINE void store_bounded_rows(const ByteScales& scales, const float* sums, int64_t sum_stride,
                                   int32_t rows, int panels, int8_t* y, int64_t y_stride) {
  const int32_t at_once = 4 / panels;
  for (int32_t row = 0; row < rows; row += at_once) {
    const float* from[4];
    for (int i = 0; i < 4; ++i) {
      const int32_t other = row + i / panels;
      from[i] = sums + (other < rows ? other : rows - 1) * sum_stride + i % panels * kChannelPanel;
    }
    const __m512i bytes = bytes_of(scales, from);
    int8_t* to = y + row * y_stride;
    if (panels == 2) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
      if (row + 1 < rows)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + y_stride),
                            _mm512_extracti64x4_epi64(bytes, 1));
      continue;
    }
    const auto store = [&](int i, __m128i lane) HWY_ATTR {
      if (row + i < rows) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * y_stride), lane);
    };
    store(0, _mm512_castsi512_si128(bytes));
    store(1, _mm512_extracti32x4_epi32(bytes, 1));
    store(2, _mm512_extracti32x4_epi32(bytes, 2));
    store(3, _mm512_extracti32x4_epi32(bytes, 3));
  }
}
#endif

// Rounds rows of a tile to bytes; `sums` are numbers of quanta, `sum_stride` from row to row. Lanes
// behind the valid ones of the last panel get the zero point.
inline HWY_NOINLINE __attribute__((noclone)) void store_byte_rows(const ByteScales& scales,
                                                                  const float* sums,
                                                                  int64_t sum_stride, int32_t rows,
                                                                  int panels, PanelLanes lanes,
                                                                  int8_t* y, int64_t y_stride) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  const PanelVec low = hn::Set(d, scales.low);
  const PanelVec high = hn::Set(d, scales.high);
  const PanelIntVec zero_point = hn::Set(PanelIntTag{}, scales.y.zero_point);
  const int whole =
      lanes.stored == kChannelPanel && lanes.valid == kChannelPanel ? panels : panels - 1;
#if HWY_TARGET == HWY_AVX3
  if (scales.is_bounded && scales.is_one_step && whole == panels && panels <= 2)
    return store_bounded_rows(scales, sums, sum_stride, rows, panels, y, y_stride);
#endif
  for (int32_t row = 0; row < rows; ++row, sums += sum_stride, y += y_stride) {
    for (int lane = 0; lane < whole * kChannelPanel; lane += kPanelLanes)
      store_bytes(hn::LoadU(d, sums + lane), low, high, zero_point, y + lane);
    if (whole == panels) continue;
    int8_t last[kChannelPanel + kChannelPad];
    const int64_t first = int64_t{whole} * kChannelPanel;
    for (int lane = 0; lane < kChannelPanel; lane += kPanelLanes)
      store_bytes(hn::LoadU(d, sums + first + lane), low, high, zero_point, last + lane);
    for (int32_t lane = lanes.valid; lane < lanes.stored; ++lane)
      last[lane] = static_cast<int8_t>(scales.y.zero_point);
    __builtin_memcpy(y + first, last, static_cast<size_t>(lanes.stored));
  }
}

template <>
struct PanelOutput<int8_t> {
  const Activation* activation;  // ByteScales has it
  ByteOrFloat residual = {};
  int64_t residual_stride = 0;
  ByteOrFloat y;
  int64_t y_stride;
  PanelLanes lanes;
  const ByteScales* scales = nullptr;
  int64_t panel = 0;
};

// Ends the sums of one panel that are floats: adds the residual, activates, and stores what the
// result is. `sums` is overwritten.
inline HWY_NOINLINE __attribute__((noclone)) void finish_bytes(const PanelOutput<int8_t>& output,
                                                               float* sums, int64_t sum_stride,
                                                               int32_t pixel_count) {
  const ByteScales& scales = *output.scales;
  const PanelLanes& lanes = output.lanes;
  if (scales.y.scale == 0 && scales.residual.scale == 0)
    return finish_panel(PanelOutput<float>{.activation = &scales.activation,
                                           .residual = reinterpret_cast<float*>(output.residual.p),
                                           .residual_stride = output.residual_stride,
                                           .y = reinterpret_cast<float*>(output.y.p),
                                           .y_stride = output.y_stride,
                                           .lanes = lanes},
                        sums, sum_stride, pixel_count);
  const int32_t valid = lanes.valid < kChannelPanel ? lanes.valid : kChannelPanel;
  ByteOrFloat residual = output.residual;
  for (int32_t pixel = 0; pixel < pixel_count && residual.p != nullptr; ++pixel) {
    float* to = sums + pixel * sum_stride;
    for (int32_t lane = 0; lane < valid; ++lane)
      to[lane] += scales.residual.scale == 0
                      ? reinterpret_cast<const float*>(residual.p)[lane]
                      : scales.residual.scale *
                            static_cast<float>(reinterpret_cast<const int8_t*>(residual.p)[lane] -
                                               scales.residual.zero_point);
    residual += output.residual_stride;
  }
  if (scales.y.scale == 0)
    return finish_panel(PanelOutput<float>{.activation = &scales.activation,
                                           .y = reinterpret_cast<float*>(output.y.p),
                                           .y_stride = output.y_stride,
                                           .lanes = lanes},
                        sums, sum_stride, pixel_count);
  activate_rows(scales.activation, sums, sum_stride, sums, sum_stride, pixel_count, valid);
  for (int32_t pixel = 0; pixel < pixel_count; ++pixel)
    for (int32_t lane = 0; lane < kChannelPanel; ++lane)
      sums[pixel * sum_stride + lane] /= scales.y.scale;
  store_byte_rows(scales, sums, sum_stride, pixel_count, 1, lanes,
                  reinterpret_cast<int8_t*>(output.y.p), output.y_stride);
}

// Does for bytes what the other run_tile() does. `output.panel` is the number of its first panel.
template <class Sums>
HWY_INLINE void run_tile(const PanelTile<int8_t>& sums_of, const TileFunctions<Sums>& functions,
                         int panel_count, const PanelOutput<int8_t>& output) {
  const ByteScales& scales = *output.scales;
  const int64_t first = output.panel * kChannelPanel;
  PanelTile<int8_t> tile = sums_of;
  tile.factors = scales.factors + first;
  tile.offsets = scales.offsets + first;
  tile.starts = scales.starts + first;
  const bool is_last = panel_count == 1 && output.lanes.valid < kChannelPanel;
  const TileFunction<int8_t> compute = is_last            ? functions.of_last
                                       : panel_count == 1 ? functions.of_one
                                                          : functions.of_most;
  HWY_ALIGN float sums[Sums::kMaxSums];
  const int64_t sum_stride = int64_t{panel_count} * kChannelPanel;
  compute(tile, {.y = sums, .y_stride = sum_stride});
  if (scales.is_one_step)
    return store_byte_rows(scales, sums, sum_stride, tile.pixel_count, panel_count, output.lanes,
                           reinterpret_cast<int8_t*>(output.y.p), output.y_stride);
  PanelOutput<int8_t> panel = output;
  panel.lanes = {};
  for (int i = 0; i < panel_count; ++i) {
    if (i + 1 == panel_count) panel.lanes = output.lanes;
    finish_bytes(panel, sums + i * kChannelPanel, sum_stride, tile.pixel_count);
    if (panel.residual.p != nullptr) panel.residual += kChannelPanel;
    panel.y += kChannelPanel;
  }
}

// ---- sums ---------------------------------------------------------------------------------------

// Returns four input channels; where there are fewer, zeros take the place of the others.
HWY_INLINE int32_t load_quad(const int8_t* p) {
  int32_t quad;
  __builtin_memcpy(&quad, p, sizeof quad);
  return quad;
}
inline HWY_NOINLINE int32_t load_some_of_quad(const int8_t* p, int64_t count) {
  uint32_t quad = 0;
  for (int64_t i = 0; i < count; ++i) quad |= uint32_t{static_cast<uint8_t>(p[i])} << (8 * i);
  return static_cast<int32_t>(quad);
}

// A class of sums has kPanelLanes output channels in a Sum, Weights of a quad for them, and a quad
// of inputs, Input.
#if HWY_TARGET == HWY_AVX3
// vpdpbusd multiplies unsigned bytes by signed ones: weights get 128 added, by which the sum of the
// inputs is multiplied too many.
struct ByteDots {
  using Sum = __m512i;
  using Weights = __m512i;
  using Input = __m512i;
  static constexpr PanelTileSize kSize = {16, 14, 2, 14, 4, 2 * kPanelPassBytes};
  static constexpr bool kSumsInputs = true;

  static HWY_INLINE Sum begin(const int32_t* start, int32_t input_sum) {
    return _mm512_sub_epi32(_mm512_loadu_si512(start), _mm512_set1_epi32(input_sum));
  }
  static HWY_INLINE Weights load(const int8_t* p) {
    return _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(-128));
  }
  static HWY_INLINE Input spread(int32_t quad) { return _mm512_set1_epi32(quad); }
  static HWY_INLINE void add(Input x, Weights w, Sum& sum) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
  }
  static HWY_INLINE PanelIntVec total(Sum sum, const int32_t*) { return PanelIntVec{sum}; }
};
#elif HWY_TARGET == HWY_AVX2
// Bytes are widened to 16 bits, products of neighbours added to 32: vpmaddubsw would saturate.
struct ByteDots {
  struct Sum {
    __m256i first, last;  // four channels each, two sums of a channel
  };
  using Weights = Sum;
  using Input = __m256i;
  static constexpr PanelTileSize kSize = {8, 2, 1, 4, 2, kPanelPassBytes};
  static constexpr bool kSumsInputs = false;

  static HWY_INLINE Sum begin(const int32_t*, int32_t) {
    return {_mm256_setzero_si256(), _mm256_setzero_si256()};
  }
  static HWY_INLINE Weights load(const int8_t* p) {
    const auto* from = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtepi8_epi16(_mm_loadu_si128(from)),
            _mm256_cvtepi8_epi16(_mm_loadu_si128(from + 1))};
  }
  static HWY_INLINE Input spread(int32_t quad) {
    return _mm256_cvtepi8_epi16(_mm_set1_epi32(quad));
  }
  static HWY_INLINE void add(Input x, const Weights& w, Sum& sum) {
    sum.first = _mm256_add_epi32(sum.first, _mm256_madd_epi16(x, w.first));
    sum.last = _mm256_add_epi32(sum.last, _mm256_madd_epi16(x, w.last));
  }
  static HWY_INLINE PanelIntVec total(const Sum& sum, const int32_t* start) {
    // In pairs of channels: 0, 2, 1, 3.
    const __m256i pairs = _mm256_hadd_epi32(sum.first, sum.last);
    const auto* from = reinterpret_cast<const __m256i*>(start);
    return PanelIntVec{
        _mm256_add_epi32(_mm256_permute4x64_epi64(pairs, 0xd8), _mm256_loadu_si256(from))};
  }
};
#elif HWY_TARGET == HWY_NEON
// Products of bytes have 16 bits; neighbours are added to sums of 32. (Two of -128 times -128 would
// not fit 16.)
struct ByteDots {
  struct Sum {
    int32x4_t first, last;  // two channels each, two sums of a channel
  };
  using Weights = int8x16_t;
  using Input = int8x16_t;
  static constexpr PanelTileSize kSize = {4, 2, 1, 4, 1, kPanelPassBytes};
  static constexpr bool kSumsInputs = false;

  static HWY_INLINE Sum begin(const int32_t*, int32_t) { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
  static HWY_INLINE Weights load(const int8_t* p) { return vld1q_s8(p); }
  static HWY_INLINE Input spread(int32_t quad) { return vreinterpretq_s8_s32(vdupq_n_s32(quad)); }
  static HWY_INLINE void add(Input x, Weights w, Sum& sum) {
    sum.first = vpadalq_s16(sum.first, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
    sum.last = vpadalq_s16(sum.last, vmull_high_s8(x, w));
  }
  static HWY_INLINE PanelIntVec total(const Sum& sum, const int32_t* start) {
    return PanelIntVec{vaddq_s32(vpaddq_s32(sum.first, sum.last), vld1q_s32(start))};
  }
};
#else
struct ByteDots {
  using Sum = int32_t;
  using Weights = const int8_t*;
  using Input = int32_t;
  static constexpr PanelTileSize kSize = {1, 1, 1, 1, 1, kPanelPassBytes};
  static constexpr bool kSumsInputs = false;

  static HWY_INLINE Sum begin(const int32_t*, int32_t) { return 0; }
  static HWY_INLINE Weights load(const int8_t* p) { return p; }
  static HWY_INLINE Input spread(int32_t quad) { return quad; }
  static HWY_INLINE void add(Input x, Weights w, Sum& sum) {
    for (int i = 0; i < 4; ++i) sum += static_cast<int8_t>(x >> (8 * i)) * w[i];
  }
  static HWY_INLINE PanelIntVec total(Sum sum, const int32_t* start) {
    return PanelIntVec{sum + *start};
  }
};
#endif

// sums += inputs * weights for a quad of input channels. quad_of(pixel) gives that of a pixel.
template <class Dots, int kPixels, int kVectors, class QuadOf>
HWY_INLINE void add_quad(typename Dots::Sum (&sums)[kPixels][kVectors], const QuadOf& quad_of,
                         const int8_t* weights, int64_t panel_elements) {
  constexpr int kVectorBytes = kPanelLanes * static_cast<int>(kQuadInputs);
  typename Dots::Weights w[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v)
    w[v] =
        Dots::load(weights + v / kPanelVectors * panel_elements + v % kPanelVectors * kVectorBytes);
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    const typename Dots::Input x = Dots::spread(quad_of(pixel));
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) Dots::add(x, w[v], sums[pixel][v]);
  }
}

// Stores sums as floats, multiplied by the factors, plus the offsets.
HWY_INLINE void store_scaled(PanelIntVec sum, const float* factor, const float* offset, float* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  hn::StoreU(hn::MulAdd(hn::ConvertTo(d, sum), hn::LoadU(d, factor), hn::LoadU(d, offset)), d, to);
}

// `kLastVectors` counts the vectors of the last panel.
template <class Dots, int kPixels, int kPanels, int kLastVectors>
HWY_NOINLINE void compute_byte_tile(const PanelTile<int8_t>& tile, const PanelEnd& end) {
  constexpr int kVectors = (kPanels - 1) * kPanelVectors + kLastVectors;
  typename Dots::Sum sums[kPixels][kVectors];
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      sums[pixel][v] = Dots::begin(tile.starts + v * kPanelLanes,
                                   Dots::kSumsInputs ? tile.input_sums[pixel] : 0);

  const int64_t panel_elements = tile.panel_elements;
  const int8_t* const* inputs = tile.inputs;
  uintptr_t ahead = tile.ahead;
  for (int64_t tap = 0; tap < tile.tap_count; ++tap, inputs += tile.tap_step) {
    const int8_t* weights = tile.weights + tile.taps[tap].weight_offset;
    int64_t channel = tile.first_channel + tile.taps[tap].input_offset;
    const int64_t channel_end = channel + tile.depth;
    for (; channel + kQuadInputs <= channel_end;
         channel += kQuadInputs, weights += kInputQuadBytes) {
      add_quad<Dots>(
          sums, [&](int pixel) HWY_ATTR { return load_quad(inputs[pixel] + channel); }, weights,
          panel_elements);
      __builtin_prefetch(reinterpret_cast<const void*>(ahead), 0, 2);
      ahead += kAheadBytes<int8_t>;
    }
    if (channel < channel_end) {
      int32_t quads[kPixels];
#pragma GCC unroll 1
      for (int pixel = 0; pixel < kPixels; ++pixel)
        quads[pixel] = load_some_of_quad(inputs[pixel] + channel, channel_end - channel);
      add_quad<Dots>(
          sums, [&](int pixel) HWY_ATTR { return quads[pixel]; }, weights, panel_elements);
    }
  }
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      store_scaled(Dots::total(sums[pixel][v], tile.starts + v * kPanelLanes),
                   tile.factors + v * kPanelLanes, tile.offsets + v * kPanelLanes,
                   end.y + pixel * end.y_stride + v * kPanelLanes);
}

// Names that micro-kernel, as FloatSums names the other.
#if HWY_TARGET == HWY_AVX3
struct DotSums {
#else
struct ByteSums {
#endif
  using Element = int8_t;
  static constexpr PanelTileSize kSize = ByteDots::kSize;
  static constexpr int kMaxSums =
      (kSize.pixels * kSize.panels > kSize.narrow_pixels ? kSize.pixels * kSize.panels
                                                         : kSize.narrow_pixels) *
      kChannelPanel;
  static_assert(kSize.row_panels * kChannelPanel <= kMaxSums);
  static_assert(kSize.pixels <= kMaxTilePixels && kSize.narrow_pixels <= kMaxTilePixels);
  template <int kPixels, int kPanels, int kLastVectors>
  static constexpr TileFunction<int8_t> kFunction =
      compute_byte_tile<ByteDots, kPixels, kPanels, kLastVectors>;
};

#if HWY_TARGET == HWY_NEON
// Functions with this attribute run where cpu_has(CpuTarget::NeonDot), and they alone inline
// add_dots(). (The assembler of binutils 2.40 refuses dot products to ARMv8.0; "crypto" is
// Highway's, whose functions are inlined.)
#define CODL_DOT_PRODUCTS __attribute__((target("arch=armv8.2-a+crypto+dotprod")))

// sum += the dot products of each four bytes of w with those of x's lane kLane. The instruction is
// named, as add_half_products() of half-inl.h does it.
template <int kLane>
HWY_INLINE void add_dots(int8x16_t w, int8x16_t x, int32x4_t& sum) {
  asm("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(w), "w"(x), "i"(kLane));
}

// Adds the quads of the inputs' lane kLane. Weights of the next one are on their way meanwhile: see
// add_half_lane() of panel_halves-inl.h.
template <int kLane, int kPixels, int kVectors>
HWY_INLINE void add_dot_lane(int32x4_t (&sums)[kPixels][kVectors], const int8x16_t* x, int8x16_t* w,
                             const int8_t* weights, int64_t panel_elements) {
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    int8x16_t next = w[v];
    if constexpr (kLane < 3) {
      next = vld1q_s8(weights + (kLane + 1) * kInputQuadBytes + v / kPanelVectors * panel_elements +
                      v % kPanelVectors * 16);
      asm volatile("" : "+w"(next));  // GCC 12 would move it to where it is used
    }
#pragma GCC unroll 8
    for (int pixel = 0; pixel < kPixels; ++pixel) add_dots<kLane>(w[v], x[pixel], sums[pixel][v]);
    w[v] = next;
  }
}

template <int kPixels, int kPanels, int kLastVectors>
CODL_DOT_PRODUCTS HWY_NOINLINE void compute_dot_tile(const PanelTile<int8_t>& tile,
                                                     const PanelEnd& end) {
  constexpr int kVectors = (kPanels - 1) * kPanelVectors + kLastVectors;
  int32x4_t sums[kPixels][kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const int32x4_t start = vld1q_s32(tile.starts + v * kPanelLanes);
#pragma GCC unroll 8
    for (int pixel = 0; pixel < kPixels; ++pixel) sums[pixel][v] = start;
  }

  const int64_t panel_elements = tile.panel_elements;
  const int8_t* const* inputs = tile.inputs;
  uintptr_t ahead = tile.ahead;
  constexpr int64_t kQuads = 4;  // in a register
  for (int64_t tap = 0; tap < tile.tap_count; ++tap, inputs += tile.tap_step) {
    const int8_t* weights = tile.weights + tile.taps[tap].weight_offset;
    int64_t channel = tile.first_channel + tile.taps[tap].input_offset;
    const int64_t channel_end = channel + tile.depth;
    int8x16_t x[kPixels];
    int8x16_t w[kVectors];
    for (; channel + kQuads * kQuadInputs <= channel_end;
         channel += kQuads * kQuadInputs, weights += kQuads * kInputQuadBytes) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        w[v] = vld1q_s8(weights + v / kPanelVectors * panel_elements + v % kPanelVectors * 16);
#pragma GCC unroll 8
      for (int pixel = 0; pixel < kPixels; ++pixel) x[pixel] = vld1q_s8(inputs[pixel] + channel);
      add_dot_lane<0, kPixels, kVectors>(sums, x, w, weights, panel_elements);
      add_dot_lane<1, kPixels, kVectors>(sums, x, w, weights, panel_elements);
      add_dot_lane<2, kPixels, kVectors>(sums, x, w, weights, panel_elements);
      add_dot_lane<3, kPixels, kVectors>(sums, x, w, weights, panel_elements);
      for (int64_t line = 0; line < kQuads * kAheadBytes<int8_t>; line += 64)
        __builtin_prefetch(reinterpret_cast<const void*>(ahead + line), 0, 2);
      ahead += kQuads * kAheadBytes<int8_t>;
    }
#pragma GCC unroll 1
    for (; channel < channel_end; channel += kQuadInputs, weights += kInputQuadBytes) {
      const int64_t left = channel_end - channel;
#pragma GCC unroll 8
      for (int pixel = 0; pixel < kPixels; ++pixel) {
        const int8_t* from = inputs[pixel] + channel;
        x[pixel] = vreinterpretq_s8_s32(
            vdupq_n_s32(left < kQuadInputs ? load_some_of_quad(from, left) : load_quad(from)));
      }
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        w[v] = vld1q_s8(weights + v / kPanelVectors * panel_elements + v % kPanelVectors * 16);
#pragma GCC unroll 8
        for (int pixel = 0; pixel < kPixels; ++pixel) add_dots<0>(w[v], x[pixel], sums[pixel][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      store_scaled(PanelIntVec{sums[pixel][v]}, tile.factors + v * kPanelLanes,
                   tile.offsets + v * kPanelLanes, end.y + pixel * end.y_stride + v * kPanelLanes);
}

// Names that micro-kernel: 16 sums, 4 weights and the next 4, 4 inputs (a register holds four quads
// of a pixel).
struct DotSums {
  using Element = int8_t;
  static constexpr PanelTileSize kSize = {4, 4, 1, 8, 2, kPanelPassBytes};
  static constexpr int kMaxSums = kSize.narrow_pixels * kChannelPanel;
  static_assert(kSize.pixels <= kMaxTilePixels && kSize.narrow_pixels <= kMaxTilePixels);
  template <int kPixels, int kPanels, int kLastVectors>
  static constexpr TileFunction<int8_t> kFunction =
      compute_dot_tile<kPixels, kPanels, kLastVectors>;
};
#endif

// Sets tile->input_sums, which depend on the pixels and the group alone.
#if HWY_TARGET == HWY_AVX3
// Adds up the inputs of four pixels, tap by tap: sums of one pixel wait for each other. With
// kIsQuad there are four channels.
template <bool kIsQuad>
HWY_INLINE void add_inputs(const PanelTile<int8_t>& tile, const int (&pixels)[4],
                           __m512i (&sums)[4]) {
  const __m512i ones = _mm512_set1_epi8(1);
  const int64_t depth = tile.depth;
  const __mmask64 rest = _bzhi_u64(~uint64_t{0}, static_cast<uint32_t>(depth % 64));
  const int8_t* const* inputs = tile.inputs;
  for (int64_t tap = 0; tap < tile.tap_count; ++tap, inputs += tile.tap_step) {
    const int64_t first = tile.first_channel + tile.taps[tap].input_offset;
    if (kIsQuad) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        ByteDots::add(
            _mm512_zextsi128_si512(_mm_cvtsi32_si128(load_quad(inputs[pixels[i]] + first))), ones,
            sums[i]);
      continue;
    }
    int64_t channel = 0;
    for (; channel + 64 <= depth; channel += 64)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        ByteDots::add(_mm512_loadu_si512(inputs[pixels[i]] + first + channel), ones, sums[i]);
    if (rest != 0)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        ByteDots::add(_mm512_maskz_loadu_epi8(rest, inputs[pixels[i]] + first + channel), ones,
                      sums[i]);
  }
}

inline HWY_NOINLINE void sum_inputs(PanelTile<int8_t>* tile, int size) {
  static_assert(kPanelTileMaxPixels % 4 == 2, "input_sums has room for whole fours");
  for (int pixel = 0; pixel < size; pixel += 4) {
    int pixels[4];
    for (int i = 0; i < 4; ++i) pixels[i] = pixel + i < size ? pixel + i : size - 1;
    __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                       _mm512_setzero_si512()};
    if (tile->depth == kQuadInputs)
      add_inputs<true>(*tile, pixels, sums);
    else
      add_inputs<false>(*tile, pixels, sums);
    // Adds lanes of four pixels together, in pairs.
    const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[0], sums[1]),
                                        _mm512_unpackhi_epi32(sums[0], sums[1]));
    const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[2], sums[3]),
                                        _mm512_unpackhi_epi32(sums[2], sums[3]));
    const __m512i all =
        _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    const __m256i half =
        _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(tile->input_sums + pixel), _mm_slli_epi32(four, 7));
  }
}
#else
inline void sum_inputs(PanelTile<int8_t>*, int) {}
#endif

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_PANEL_BYTES_INL_H
