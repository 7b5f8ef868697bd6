// Depthwise 2-D convolution of operands of 8 bits, Nhwc, with vectors along the channels.
//
// A dot product of four bytes takes four taps of a channel: rows of the filter. So the bytes of
// four rows of the map, at one column, are brought together channel by channel ("interleaved"),
// once for all the outputs of a run whose windows have that column. Rows and columns outside the
// map, and rows beyond the filter's, are a pixel of zero points; the weights of the latter are
// zeros.
//
// Interleaving splits a vector into four with a quarter of each 16 channels; rounding to bytes
// brings them together again. Scales and weights are brought into that order first.
//
// Longer than 500 lines: each target interleaves and adds by instructions of its own.
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

constexpr int kRowsAtOnce = 4;  // filter rows in a dot product

// Each class has what a block of channels takes: its bytes, a quarter of its channels with four
// rows, a quarter's sums. Weights of a quarter have kWeightBytes for each channel.
#if HWY_TARGET == HWY_AVX3
struct BlockDots {
  using Bytes = __m512i;
  using Quads = __m512i;
  using Sum = __m512i;
  static constexpr int kChannels = 64;
  static constexpr int kWeightBytes = 4;
  static constexpr int32_t kShift = 128;  // is added to the inputs

  static HWY_INLINE Bytes load(const int8_t* p, int64_t count) {
    const __mmask64 mask = count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
    return _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, p), _mm512_set1_epi8(-128));
  }
  static HWY_INLINE void interleave(const Bytes* rows, Quads* quads) {
    const Bytes a = _mm512_unpacklo_epi8(rows[0], rows[1]);
    const Bytes b = _mm512_unpackhi_epi8(rows[0], rows[1]);
    const Bytes c = _mm512_unpacklo_epi8(rows[2], rows[3]);
    const Bytes d = _mm512_unpackhi_epi8(rows[2], rows[3]);
    quads[0] = _mm512_unpacklo_epi16(a, c);
    quads[1] = _mm512_unpackhi_epi16(a, c);
    quads[2] = _mm512_unpacklo_epi16(b, d);
    quads[3] = _mm512_unpackhi_epi16(b, d);
  }
  static HWY_INLINE void prepare(const int8_t* from, int8_t* to) {
    __builtin_memcpy(to, from, sizeof(Quads));
  }
  static HWY_INLINE Sum begin(const int32_t* start) { return _mm512_loadu_si512(start); }
  static HWY_INLINE void add(Quads x, const int8_t* w, Sum& sum) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "m"(*reinterpret_cast<const int8_t(*)[64]>(w)));
  }
  static HWY_INLINE void store(Sum sum, int32_t* to) { _mm512_storeu_si512(to, sum); }
};
#elif HWY_TARGET == HWY_AVX2
struct BlockDots {
  using Bytes = __m256i;
  struct Quads {
    __m256i even, odd;  // bytes, as 16 bits
  };
  using Sum = __m256i;
  static constexpr int kChannels = 32;
  static constexpr int kWeightBytes = 8;
  static constexpr int32_t kShift = 0;

  static HWY_INLINE Bytes load(const int8_t* p, int64_t count) {
    if (count >= kChannels) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    int8_t some[kChannels] = {};
    __builtin_memcpy(some, p, static_cast<size_t>(count));
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(some));
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
  static HWY_INLINE void prepare(const int8_t* from, int8_t* to) {
    const Quads quads = widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), quads.even);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to) + 1, quads.odd);
  }
  static HWY_INLINE Sum begin(const int32_t* start) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(start));
  }
  static HWY_INLINE void add(const Quads& x, const int8_t* w, Sum& sum) {
    const auto* weights = reinterpret_cast<const __m256i*>(w);
    const __m256i even = _mm256_madd_epi16(x.even, _mm256_loadu_si256(weights));
    const __m256i odd = _mm256_madd_epi16(x.odd, _mm256_loadu_si256(weights + 1));
    sum = _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
  }
  static HWY_INLINE void store(Sum sum, int32_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sum);
  }
};
#elif HWY_TARGET == HWY_NEON
struct NeonBlock {
  using Bytes = int8x16_t;
  using Quads = int8x16_t;
  static constexpr int kChannels = 16;
  static constexpr int kWeightBytes = 4;
  static constexpr int32_t kShift = 0;

  static HWY_INLINE Bytes load(const int8_t* p, int64_t count) {
    if (count >= kChannels) return vld1q_s8(p);
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
  static HWY_INLINE void prepare(const int8_t* from, int8_t* to) {
    __builtin_memcpy(to, from, sizeof(Quads));
  }
};
struct BlockDots : NeonBlock {
  struct Sum {
    int32x4_t first, last;  // two channels each, two sums of a channel
  };
  static HWY_INLINE Sum begin(const int32_t* start) {
    // A start is the first of its channel's two sums.
    const int32x4_t starts = vld1q_s32(start);
    return {vzip1q_s32(starts, vdupq_n_s32(0)), vzip2q_s32(starts, vdupq_n_s32(0))};
  }
  static HWY_INLINE void add(Quads x, const int8_t* w, Sum& sum) {
    const int8x16_t weights = vld1q_s8(w);
    sum.first = vpadalq_s16(sum.first, vmull_s8(vget_low_s8(x), vget_low_s8(weights)));
    sum.last = vpadalq_s16(sum.last, vmull_high_s8(x, weights));
  }
  static HWY_INLINE void store(const Sum& sum, int32_t* to) {
    vst1q_s32(to, vpaddq_s32(sum.first, sum.last));
  }
};
// Runs where cpu_has(CpuTarget::NeonDot).
struct NeonDots : NeonBlock {
  using Sum = int32x4_t;
  static HWY_INLINE Sum begin(const int32_t* start) { return vld1q_s32(start); }
  static HWY_INLINE void add(Quads x, const int8_t* w, Sum& sum) {
    asm("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(vld1q_s8(w)));
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
  static constexpr int kWeightBytes = 4;
  static constexpr int32_t kShift = 0;

  static HWY_INLINE Bytes load(const int8_t* p, int64_t count) {
    Bytes some = {};
    __builtin_memcpy(some.bytes, p, static_cast<size_t>(count < kChannels ? count : kChannels));
    return some;
  }
  static HWY_INLINE void interleave(const Bytes* rows, Quads* quads) {
    for (int i = 0; i < 64; ++i) quads[i / 16].bytes[i % 16] = rows[i % 4].bytes[i / 4];
  }
  static HWY_INLINE void prepare(const int8_t* from, int8_t* to) {
    __builtin_memcpy(to, from, sizeof(Quads));
  }
  static HWY_INLINE Sum begin(const int32_t* start) {
    return {{start[0], start[1], start[2], start[3]}};
  }
  static HWY_INLINE void add(const Quads& x, const int8_t* w, Sum& sum) {
    for (int i = 0; i < 16; ++i) sum.sums[i / 4] += x.bytes[i] * w[i];
  }
  static HWY_INLINE void store(const Sum& sum, int32_t* to) {
    __builtin_memcpy(to, sum.sums, sizeof sum.sums);
  }
};
#endif

// So many neighbouring outputs are computed at once, if there are so many.
constexpr int kOutputs = HWY_TARGET == HWY_SCALAR ? 1 : HWY_TARGET == HWY_AVX2 ? 2 : 4;

// Names a row of the map, or of zero points: then all columns are one pixel.
struct InputRow {
  const int8_t* column_0;
  int64_t pixel;
};

// Describes neighbouring outputs of a row, for a block of channels.
struct ByteRun {
  const InputRow* rows;  // [row_groups * 4]
  int32_t row_groups;
  int32_t tap_columns;
  int32_t column;  // where the first output's first tap is; it may be outside
  int32_t input_columns;
  int32_t stride;
  int32_t dilation;
  int64_t channels;          // the block's
  const int8_t* weights;     // [row groups][tap columns][4 quarters]
  const int32_t* starts;     // [4 quarters]
  const int8_t* zero_pixel;  // holds zero points
  int32_t* sums;             // [outputs][4 quarters]

  bool is_inside(int64_t input_column) const {
    return static_cast<uint64_t>(input_column) < static_cast<uint64_t>(input_columns);
  }
};

template <class Dots>
HWY_INLINE void load_column(const ByteRun& run, const InputRow* rows, int64_t column,
                            typename Dots::Quads* quads) {
  const bool is_inside = run.is_inside(column);
  typename Dots::Bytes bytes[kRowsAtOnce];
#pragma GCC unroll 4
  for (int i = 0; i < kRowsAtOnce; ++i)
    bytes[i] = Dots::load(is_inside ? rows[i].column_0 + column * rows[i].pixel : run.zero_pixel,
                          run.channels);
  Dots::interleave(bytes, quads);
}

// Computes kCount outputs. A filter of kTaps columns side by side moves by kStride; with kTaps 0
// any does.
template <class Dots, int kCount, int kTaps, int kStride>
HWY_INLINE void compute_outputs(const ByteRun& run) {
  constexpr int kQuarter = Dots::kChannels / 4;
  constexpr int64_t kWeightBytes = kQuarter * Dots::kWeightBytes;
  typename Dots::Sum sums[kCount][4];
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) sums[i][q] = Dots::begin(run.starts + q * kQuarter);
  const int8_t* weights = run.weights;
  for (int32_t group = 0; group < run.row_groups; ++group) {
    const InputRow* rows = run.rows + group * kRowsAtOnce;
    typename Dots::Quads quads[4];
    if constexpr (kTaps > 0) {
#pragma GCC unroll 16
      for (int column = 0; column < (kCount - 1) * kStride + kTaps; ++column) {
        load_column<Dots>(run, rows, int64_t{run.column} + column, quads);
#pragma GCC unroll 8
        for (int tap = 0; tap < kTaps; ++tap) {
          const int output = (column - tap) / kStride;
          if (column < tap || output * kStride != column - tap || output >= kCount) continue;
#pragma GCC unroll 4
          for (int q = 0; q < 4; ++q)
            Dots::add(quads[q], weights + (tap * 4 + q) * kWeightBytes, sums[output][q]);
        }
      }
    } else {
      for (int32_t tap = 0; tap < run.tap_columns; ++tap)
#pragma GCC unroll 4
        for (int i = 0; i < kCount; ++i) {
          load_column<Dots>(
              run, rows,
              int64_t{run.column} + int64_t{i} * run.stride + int64_t{tap} * run.dilation, quads);
#pragma GCC unroll 4
          for (int q = 0; q < 4; ++q)
            Dots::add(quads[q], weights + (tap * 4 + q) * kWeightBytes, sums[i][q]);
        }
    }
    weights += run.tap_columns * 4 * kWeightBytes;
  }
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) Dots::store(sums[i][q], run.sums + (i * 4 + q) * kQuarter);
}

using RunFunction = void (*)(const ByteRun& run);

template <class Dots, int kCount, int kTaps = 0, int kStride = 1>
HWY_NOINLINE void compute_run(const ByteRun& run) {
  compute_outputs<Dots, kCount, kTaps, kStride>(run);
}
#if HWY_TARGET == HWY_NEON
template <class Dots, int kCount, int kTaps = 0, int kStride = 1>
CODL_DOT_PRODUCTS HWY_NOINLINE void compute_run_with_dots(const ByteRun& run) {
  compute_outputs<Dots, kCount, kTaps, kStride>(run);
}
#endif

struct RunFunctions {
  RunFunction of_one;
  RunFunction of_most;  // kOutputs
};

#define CODL_RUN_FUNCTIONS(compute, Dots)                                                        \
  {                                                                                              \
    const bool is_close = horizontal.dilation == 1;                                              \
    const int32_t taps = horizontal.taps;                                                        \
    const int32_t stride = horizontal.stride;                                                    \
    RunFunctions functions = {compute<Dots, 1>, compute<Dots, kOutputs>};                        \
    if (is_close && taps == 3 && stride == 1) functions.of_most = compute<Dots, kOutputs, 3, 1>; \
    if (is_close && taps == 3 && stride == 2) functions.of_most = compute<Dots, kOutputs, 3, 2>; \
    return functions;                                                                            \
  }

template <class Dots>
RunFunctions functions_for(const WindowAxis& horizontal) {
#if HWY_TARGET == HWY_NEON
  if constexpr (std::is_same_v<Dots, NeonDots>)
    CODL_RUN_FUNCTIONS(compute_run_with_dots, Dots)
  else
#endif
    CODL_RUN_FUNCTIONS(compute_run, Dots)
}
#undef CODL_RUN_FUNCTIONS

// Holds a block of channels, in scratch: weights and scales in the order of quarters.
template <class Dots>
struct Block {
  static constexpr int kChannels = Dots::kChannels;
  static constexpr int kQuarter = kChannels / 4;

  ByteScales scales;  // in the channels' order
  int32_t starts[kChannels];
  float factors[kChannels];
  float offsets[kChannels];
  int8_t zero_pixel[kChannels];
  int8_t* weights;

  // Returns where channel `channel` of the block is in the order of quarters.
  static constexpr int place(int channel) {
    return channel % kChannelPanel / 4 * kQuarter + channel / kChannelPanel * 4 + channel % 4;
  }

  void fill(const TensorView& w, const float* bias, int64_t first, int64_t channels) {
    const int64_t panel_bytes = depthwise_panel_bytes(w.shape.dims);
    const int32_t columns = w.shape.dims[3];
    const int64_t groups = ceil_div(w.shape.dims[2], kRowsAtOnce);
    alignas(64) int8_t quads[kQuarter * 4];
    for (int64_t panel = 0; panel < kChannels / kChannelPanel; ++panel) {
      BytePanelEnd end = {};
      const int64_t left = channels - panel * kChannelPanel;
      if (left > 0)
        end = end_of_panel(w.as<const int8_t>(), first / kChannelPanel + panel, panel_bytes);
      scales.fill(panel, end, bias + panel * kChannelPanel, static_cast<int32_t>(left));
      for (int32_t lane = 0; lane < kChannelPanel; ++lane)
        scales.starts[panel * kChannelPanel + lane] -= Dots::kShift * end.sums[lane];
    }
    for (int channel = 0; channel < kChannels; ++channel) {
      starts[place(channel)] = scales.starts[channel];
      factors[place(channel)] = scales.factors[channel];
      offsets[place(channel)] = scales.offsets[channel];
    }
    int8_t* to = weights;
    for (int64_t group = 0; group < groups; ++group)
      for (int32_t column = 0; column < columns; ++column)
        for (int q = 0; q < 4; ++q, to += kQuarter * Dots::kWeightBytes) {
          for (int64_t panel = 0; panel < kChannels / kChannelPanel; ++panel) {
            const int64_t at = (first / kChannelPanel + panel) * panel_bytes +
                               (column * groups + group) * kInputQuadBytes + q * 16;
            if (panel * kChannelPanel < channels)
              __builtin_memcpy(quads + panel * 16, w.as<const int8_t>() + at, 16);
            else
              __builtin_memset(quads + panel * 16, 0, 16);
          }
          Dots::prepare(quads, to);
        }
  }

  // Ends the sums of `count` outputs.
  void end(const int32_t* sums, int count, const PanelOutput<int8_t>& output, int64_t channels,
           int64_t stored) const {
#if HWY_TARGET == HWY_AVX3
    if (scales.is_one_step && scales.is_bounded)
      return end_in_one_step(sums, count, output, channels, stored);
#endif
    HWY_ALIGN float floats[kOutputs * kChannels];
    for (int i = 0; i < count; ++i)
      for (int panel = 0; panel < kChannels / kChannelPanel; ++panel)
        for (int lane = 0; lane < kChannelPanel; ++lane) {
          const int channel = panel * kChannelPanel + lane;
          floats[i * kChannels + channel] =
              static_cast<float>(sums[i * kChannels + place(channel)]) * scales.factors[channel] +
              scales.offsets[channel];
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

#if HWY_TARGET == HWY_AVX3
  // Packing takes quarters back into the channels' order.
  void end_in_one_step(const int32_t* sums, int count, const PanelOutput<int8_t>& output,
                       int64_t channels, int64_t stored) const {
    const __m512i zero_point = _mm512_set1_epi16(static_cast<int16_t>(scales.y.zero_point));
    const auto limit = [&](float quanta) {
      return _mm512_set1_epi8(
          static_cast<int8_t>(_mm_cvtss_si32(_mm_set_ss(quanta)) + scales.y.zero_point));
    };
    const __m512i low = limit(scales.low);
    const __m512i high = limit(scales.high);
    const auto lanes_of = [](int64_t lanes) {
      return lanes >= 64 ? ~__mmask64{0} : (__mmask64{1} << lanes) - 1;
    };
    const __mmask64 valid = lanes_of(channels);
    const __m512i pad = _mm512_set1_epi8(static_cast<int8_t>(scales.y.zero_point));
    auto* y = reinterpret_cast<int8_t*>(output.y.p);
    for (int i = 0; i < count; ++i, sums += kChannels, y += output.y_stride) {
      __m512i rounded[4];
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q)
        rounded[q] = _mm512_cvtps_epi32(_mm512_fmadd_ps(
            _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + q * kQuarter)),
            _mm512_loadu_ps(factors + q * kQuarter), _mm512_loadu_ps(offsets + q * kQuarter)));
      const __m512i first =
          _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), zero_point);
      const __m512i last =
          _mm512_adds_epi16(_mm512_packs_epi32(rounded[2], rounded[3]), zero_point);
      const __m512i bytes =
          _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(first, last), low), high);
      _mm512_mask_storeu_epi8(y, lanes_of(stored), _mm512_mask_blend_epi8(valid, pad, bytes));
    }
  }
#endif
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
  const DepthwiseByteScratch scratch = depthwise_byte_scratch(w.shape.dims);
  auto* const rows = static_cast<InputRow*>(args.scratch);
  char* const scales_at = static_cast<char*>(args.scratch) + scratch.scales_offset;
  constexpr int64_t kBlock = Dots::kChannels;
  Block<Dots> block = {
      .scales = ByteScales(
          x.shape, residual != nullptr ? &residual->shape : nullptr, y.shape,
          make_activation(params.activation, params.activation_alpha, params.activation_beta),
          int64_t{vertical.taps} * horizontal.taps, scales_at, kBlock / kChannelPanel),
      .starts = {},
      .factors = {},
      .offsets = {},
      .zero_pixel = {},
      .weights = static_cast<int8_t*>(args.scratch) + scratch.weights_offset,
  };
  __builtin_memset(block.zero_pixel, x.shape.zero_point, sizeof block.zero_pixel);
  const auto row_groups = static_cast<int32_t>(ceil_div(vertical.taps, kRowsAtOnce));
  const RunFunctions functions = functions_for<Dots>(horizontal);
  HWY_ALIGN int32_t sums[kOutputs * kBlock];
  ByteRun run = {
      .rows = rows,
      .row_groups = row_groups,
      .tap_columns = horizontal.taps,
      .column = 0,
      .input_columns = x.shape.dims[3],
      .stride = horizontal.stride,
      .dilation = horizontal.dilation,
      .channels = 0,
      .weights = block.weights,
      .starts = block.starts,
      .zero_pixel = block.zero_pixel,
      .sums = sums,
  };
  PanelOutput<int8_t> output = {.activation = nullptr,
                                .y = {},
                                .y_stride = y.strides[3],
                                .lanes = {},
                                .scales = &block.scales};
  if (residual != nullptr) output.residual_stride = residual->strides[3];

  // Computes channels [c, c + channels) of an output row.
  const auto compute_row = [&](int64_t image, int32_t row, int64_t c, int64_t stored) {
    for (int32_t i = 0; i < row_groups * kRowsAtOnce; ++i) {
      const int64_t input =
          int64_t{row} * vertical.stride - vertical.pad_begin + int64_t{i} * vertical.dilation;
      rows[i] = {block.zero_pixel, 0};
      if (i < vertical.taps && input >= 0 && input < x.shape.dims[2])
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
    const int32_t columns = y.shape.dims[3];
    int count = 0;
    for (int32_t column = 0; column < columns; column += count) {
      count = columns - column < kOutputs ? 1 : kOutputs;
      // The last run computes some outputs again, unless they may be in the residual's place.
      if (count < kOutputs && columns >= kOutputs && residual == nullptr) {
        column = columns - kOutputs;
        count = kOutputs;
      }
      run.column = column * horizontal.stride - horizontal.pad_begin;
      (count == 1 ? functions.of_one : functions.of_most)(run);
      output.y = y_row + column * output.y_stride;
      if (residual != nullptr) output.residual = residual_row + column * output.residual_stride;
      block.end(sums, count, output, run.channels, stored);
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
      run.channels = next - c;
      block.fill(w, args.operands[2].as<const float>() + c, c, run.channels);
      const int64_t stored = next == y.shape.dims[1] ? padded_channels(y.shape) - c : next - c;
      for (int64_t unit = units.begin; unit < units.end; ++unit)
        compute_row(unit / work.rows.count(),
                    work.rows.begin + static_cast<int32_t>(unit % work.rows.count()), c, stored);
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
