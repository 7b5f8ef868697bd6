// Computes a depthwise 2-D convolution, Nhwc, of floats or of halves, with vectors along the
// channels, for several neighbouring pixels of an output row, so that a weight loaded serves them
// all, and an input all taps that it is under. Filters of 3x3 and 5x5 with stride 1 or 2, and 1x1
// (a scale and shift), have code of their own.
//
// Taps in the padding are left out. Which those are depends on the output position alone, and the
// others are added in order, so no cut of rows, channels or tasks changes a bit.
//
// Longer than 500 lines: the loops of each filter and stride differ in what they keep in registers.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_conv2d/depthwise_conv2d_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kChannelPanel>;
using Vec = hn::Vec<Tag>;
constexpr int kTagLanes = static_cast<int>(hn::MaxLanes(Tag{}));
// So many pixels are computed at once, if there are so many. Scalar code is there to be right.
constexpr int kMaxPixels = kTagLanes == 1 ? 1 : kDepthwiseRunOutputs;

// Describes some neighbouring outputs of a row, for a block of their channels. Pointers are to the
// first channel of the block. T is what the maps and the weights are in memory, float or Half.
template <class T>
struct Run {
  const T* x;        // row of the first tap inside the map, column 0
  const T* weights;  // first tap row inside the map, column 0
  const float* bias;
  const T* residual;  // points at the first output, or is null
  T* y;               // the first output
  int32_t tap_rows;   // inside the map
  int32_t tap_columns;
  int32_t column;         // input column of the first output's first tap; it may be outside
  int32_t input_columns;  // columns of the map
  int32_t stride;
  int32_t dilation;
  int64_t x_tap_row;  // elements between rows of taps
  int64_t x_pixel;    // elements between pixels
  int64_t y_pixel;
  int64_t residual_pixel;
  int64_t y_row;  // elements between rows
  int64_t residual_row;
  int64_t weight_row;  // elements between rows of weights
  int64_t weight_pixel;
  // Channels of the block that are computed in whole vectors, one vector at least.
  int64_t channels;
  const Activation* activation;

  bool is_inside(int64_t input_column) const {
    return static_cast<uint64_t>(input_column) < static_cast<uint64_t>(input_columns);
  }
};

// Returns a bit for each input of a run that is left of the map or right of it.
template <class T>
HWY_INLINE uint32_t inputs_outside(const Run<T>& run) {
  const int32_t left = run.column < 0 ? -run.column : 0;
  const int32_t end = run.input_columns - run.column;
  return ((1u << left) - 1) | ~uint32_t{0} << (end < 31 ? end : 31);
}

// Returns v, loaded once: GCC would rather load it again for each use, as an operand in memory.
template <class V>
HWY_INLINE V loaded(V v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// Adds up the taps in floats, whatever is in memory. Another such class, HalfTaps, has the same
// members.
template <class T>
struct FloatTaps {
  using Element = T;
  using Sum = Vec;
  static constexpr int kLanes = kTagLanes;

  static HWY_INLINE Sum load(const T* p) { return load_floats(Tag{}, p); }
  static HWY_INLINE Sum load_some(const T* p, int64_t count) { return load_lanes(Tag{}, p, count); }
  static HWY_INLINE Sum begin(const float* bias) { return hn::LoadU(Tag{}, bias); }
  // sum += x * w.
  static HWY_INLINE void add(Sum x, Sum w, Sum& sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
    // Names the register that is overwritten: GCC 12 takes that of a dying input as readily and
    // moves the sums about for it.
    asm("vfmadd231ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
#else
    sum = hn::MulAdd(x, w, sum);
#endif
  }
  static HWY_INLINE void store_total(Sum sum, const float*, float* total) {
    hn::StoreU(sum, Tag{}, total);
  }
};

#if HWY_TARGET == HWY_NEON
// Adds up the taps in halves, then the bias and the residual: each once, so that a large bias
// rounds the result alone. (Floats would take as long as the taps of 3x3: Neoverse N1 converts four
// numbers in two cycles.) Curves are computed in floats.
struct HalfTaps {
  using Element = Half;
  using Sum = HalfVec;
  static constexpr int kLanes = kHalfLanes;

  static HWY_INLINE Sum load(const Half* p) { return load_halves(p); }
  static HWY_INLINE Sum load_some(const Half* p, int64_t count) {
    Half some[kLanes];
    for (int64_t i = 0; i < count && i < kLanes; ++i) some[i] = p[i];
    return load(some);
  }
  static HWY_INLINE Sum begin(const float*) { return vdupq_n_u16(0); }
  static HWY_INLINE void add(Sum x, Sum w, Sum& sum) { add_half_products(w, x, sum); }
  static HWY_INLINE void store_total(Sum sum, const float* bias, float* total) {
    for (int i = 0; i < kLanes; i += kTagLanes)
      hn::StoreU(hn::LoadU(Tag{}, bias + i), Tag{}, total + i);
    add_halves_to_floats(sum, total);
  }
};
#endif

// Adds the taps of one row to sums[i], for outputs 0 to kCount. An input serves every output that
// has it in its window; kTaps columns of the filter are side by side. `x`: the first output's first
// tap. `outside`: a bit for each input. Only the first kTaps - 1 inputs and the last can be outside
// (functions_for() ensures this), so only they are asked.
template <class Sums, int kCount, int kTaps, int kStride, class T>
HWY_INLINE void add_row(const T* x, int64_t pixel, const T* weights, int64_t weight_pixel,
                        uint32_t outside, typename Sums::Sum* sums) {
  constexpr int kInputs = (kCount - 1) * kStride + kTaps;
  typename Sums::Sum w[kTaps];
#pragma GCC unroll 8
  for (int tap = 0; tap < kTaps; ++tap) w[tap] = Sums::load(weights + tap * weight_pixel);
#pragma GCC unroll 32
  for (int i = 0; i < kInputs; ++i, x += pixel) {
    if ((i < kTaps - 1 || i > kInputs - kTaps) && (outside >> i & 1) != 0) continue;
    const typename Sums::Sum value = loaded(Sums::load(x));
#pragma GCC unroll 8
    for (int tap = 0; tap < kTaps; ++tap) {
      const int output = (i - tap) / kStride;
      if (i >= tap && output * kStride == i - tap && output < kCount)
        Sums::add(value, w[tap], sums[output]);
    }
  }
}

// Does the same for any filter, stride and dilation; `x` is column 0.
template <class Sums, int kCount, class T>
HWY_INLINE void add_any_row(const Run<T>& run, const T* x, const T* weights,
                            typename Sums::Sum* sums) {
  for (int32_t tap = 0; tap < run.tap_columns; ++tap) {
    const typename Sums::Sum w = Sums::load(weights + tap * run.weight_pixel);
    const int64_t column = int64_t{run.column} + int64_t{tap} * run.dilation;
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      const int64_t place = column + int64_t{i} * run.stride;
      if (run.is_inside(place)) Sums::add(Sums::load(x + place * run.x_pixel), w, sums[i]);
    }
  }
}

// Ends the sums of neighbouring outputs in floats, of whole vectors unless `lanes` says otherwise.
template <class Sums, int kCount, class T>
HWY_INLINE void end_totals(const Run<T>& run, const typename Sums::Sum* sums, const float* bias,
                           const T* residual, T* y,
                           PanelLanes lanes = {Sums::kLanes, Sums::kLanes}) {
  HWY_ALIGN float totals[kCount * Sums::kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) Sums::store_total(sums[i], bias, totals + i * Sums::kLanes);
  Activation activation = *run.activation;
  // Curves of floats are computed afterwards, of whole rows.
  if (std::is_same_v<T, float>) activation.has_curve = false;
  const PanelOutput<T> output = {&activation, residual, run.residual_pixel, y, run.y_pixel, lanes};
  finish_panel(output, totals, Sums::kLanes, kCount);
}

// Does it for the first lanes.
template <class Sums, int kCount, class T>
HWY_INLINE void end_some(const Run<T>& run, const Vec* sums, const float* bias, const T* residual,
                         T* y, PanelLanes lanes) {
  end_totals<Sums, kCount>(run, sums, bias, residual, y, lanes);
}

// Holds the limits of the activation as vectors.
template <class Sums>
struct Limits;
template <>
struct Limits<FloatTaps<float>> {
  explicit Limits(const Activation& activation)
      : low(hn::Set(Tag{}, activation.low)), high(hn::Set(Tag{}, activation.high)) {}
  Vec low;
  Vec high;
};
template <>
struct Limits<FloatTaps<Half>> {
  explicit Limits(const Activation&) {}
};

template <int kCount>
HWY_INLINE void end_sums(const Run<float>& run, const Limits<FloatTaps<float>>& limits, Vec* sums,
                         const float*, const float* residual, float* y) {
  const Tag d;
  if (residual != nullptr) {
    const int64_t residual_pixel = run.residual_pixel;
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i, residual += residual_pixel)
      sums[i] = hn::Add(sums[i], hn::LoadU(d, residual));
  }
  const int64_t y_pixel = run.y_pixel;
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i, y += y_pixel)
    hn::StoreU(limit(sums[i], limits.low, limits.high), d, y);
}

template <int kCount>
HWY_INLINE void end_sums(const Run<Half>& run, const Limits<FloatTaps<Half>>&, const Vec* sums,
                         const float* bias, const Half* residual, Half* y) {
  end_totals<FloatTaps<Half>, kCount>(run, sums, bias, residual, y);
}

#if HWY_TARGET == HWY_NEON
template <>
struct Limits<HalfTaps> {
  explicit Limits(const Activation& activation)
      : low(vdupq_n_u16(half_of(double{activation.low}))),
        high(vdupq_n_u16(half_of(double{activation.high}))) {}
  HalfVec low;
  HalfVec high;
};

template <int kCount>
HWY_INLINE void end_sums(const Run<Half>& run, const Limits<HalfTaps>& limits, const HalfVec* sums,
                         const float* bias, const Half* residual, Half* y) {
  if (run.activation->has_curve) return end_totals<HalfTaps, kCount>(run, sums, bias, residual, y);
  // Output by output, each operation would wait for the one before.
  const HalfVec last = halves_of(bias);
  HalfVec values[kCount];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) values[i] = add_halves(sums[i], last);
  if (residual != nullptr) {
    const int64_t residual_pixel = run.residual_pixel;
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i, residual += residual_pixel)
      values[i] = add_halves(values[i], load_halves(residual));
  }
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) values[i] = larger_halves(values[i], limits.low);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) values[i] = smaller_halves(values[i], limits.high);
  const int64_t y_pixel = run.y_pixel;
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i, y += y_pixel) store_halves(values[i], y);
}

template <class Sums, int kCount>
HWY_INLINE void end_some(const Run<Half>& run, const HalfVec* sums, const float* bias,
                         const Half* residual, Half* y, PanelLanes lanes) {
  if (run.activation->has_curve)
    return end_totals<HalfTaps, kCount>(run, sums, bias, residual, y, lanes);
  Half residuals[kCount * kHalfLanes];
  Half all[kCount * kHalfLanes];
  if (residual != nullptr)
    for (int i = 0; i < kCount; ++i)
      for (int lane = 0; lane < lanes.stored; ++lane)
        residuals[i * kHalfLanes + lane] = residual[i * run.residual_pixel + lane];
  Run<Half> whole = run;
  whole.y_pixel = whole.residual_pixel = kHalfLanes;
  end_sums<kCount>(whole, Limits<HalfTaps>(*run.activation), sums, bias,
                   residual == nullptr ? nullptr : residuals, all);
  for (int i = 0; i < kCount; ++i)
    for (int lane = 0; lane < lanes.stored; ++lane)
      y[i * run.y_pixel + lane] = lane < lanes.valid ? all[i * kHalfLanes + lane] : Half();
}
#endif

// With 32 registers: computes outputs of two rows, each input for up to six taps of a 3x3 filter.
// All taps of both rows are inside the map.
constexpr bool kHasRowPairs = HWY_TARGET == HWY_AVX3;
template <class Sums, int kCount, int kStride>
HWY_NOINLINE void compute_row_pair(const Run<typename Sums::Element>& run) {
  using T = typename Sums::Element;
  using Sum = typename Sums::Sum;
  constexpr int kLanes = Sums::kLanes;
  constexpr int kTaps = 3;
  constexpr int kInputs = (kCount - 1) * kStride + kTaps;
  const Limits<Sums> limits(*run.activation);
  const int64_t last = run.channels - kLanes;
  const int64_t pixel = run.x_pixel;
  const int64_t x_row = run.x_tap_row;
  const int64_t y_row = run.y_row;
  const int64_t weight_row = run.weight_row;
  const int64_t weight_pixel = run.weight_pixel;
  const T* first = run.x + int64_t{run.column} * pixel;
  const uint32_t outside = inputs_outside(run);
  for (int64_t c = 0;; c = c + kLanes < last ? c + kLanes : last) {
    Sum sums[2][kCount];
    const Sum bias = Sums::begin(run.bias + c);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) sums[0][i] = sums[1][i] = bias;
    const T* row = first + c;
#pragma GCC unroll 5
    for (int input_row = 0; input_row < kTaps + kStride; ++input_row, row += x_row) {
      Sum w[2][kTaps];  // taps of either output row
#pragma GCC unroll 2
      for (int y = 0; y < 2; ++y) {
        const int tap_row = input_row - y * kStride;
#pragma GCC unroll 3
        for (int tap = 0; tap < kTaps; ++tap)
          if (tap_row >= 0 && tap_row < kTaps)
            w[y][tap] = Sums::load(run.weights + c + tap_row * weight_row + tap * weight_pixel);
      }
      const T* x = row;
#pragma GCC unroll 17
      for (int i = 0; i < kInputs; ++i, x += pixel) {
        if ((i < kTaps - 1 || i > kInputs - kTaps) && (outside >> i & 1) != 0) continue;
        const Sum value = loaded(Sums::load(x));
#pragma GCC unroll 2
        for (int y = 0; y < 2; ++y) {
          const int tap_row = input_row - y * kStride;
#pragma GCC unroll 3
          for (int tap = 0; tap < kTaps; ++tap) {
            const int output = (i - tap) / kStride;
            if (tap_row >= 0 && tap_row < kTaps && i >= tap && output * kStride == i - tap &&
                output < kCount)
              Sums::add(value, w[y][tap], sums[y][output]);
          }
        }
      }
    }
#pragma GCC unroll 2
    for (int row_of_two = 0; row_of_two < 2; ++row_of_two) {
      const T* residual = run.residual;
      if (residual != nullptr) residual += c + row_of_two * run.residual_row;
      end_sums<kCount>(run, limits, sums[row_of_two], run.bias + c, residual,
                       run.y + c + row_of_two * y_row);
    }
    if (c == last) return;
  }
}

// kTaps 0: any filter.
template <class Sums, int kCount, int kTaps, int kStride>
HWY_INLINE void run_channels(const Run<typename Sums::Element>& run) {
  using T = typename Sums::Element;
  constexpr int kLanes = Sums::kLanes;
  const Limits<Sums> limits(*run.activation);
  const int64_t last = run.channels - kLanes;
  // Copies: a store to y could change `run` for all that the compiler knows.
  const int64_t pixel = run.x_pixel;
  const int64_t x_tap_row = run.x_tap_row;
  const int64_t weight_row = run.weight_row;
  const int64_t weight_pixel = run.weight_pixel;
  const int32_t tap_rows = run.tap_rows;
  const T* first = run.x + (kTaps == 0 ? 0 : int64_t{run.column} * pixel);
  uint32_t outside = 0;
  if constexpr (kTaps != 0) outside = inputs_outside(run);
  // The last vector begins early where the channels end in the middle of one: what it computes
  // again comes out as before.
  for (int64_t c = 0;; c = c + kLanes < last ? c + kLanes : last) {
    typename Sums::Sum sums[kCount];
    const typename Sums::Sum bias = Sums::begin(run.bias + c);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) sums[i] = bias;
    const T* x = first + c;
    const T* weights = run.weights + c;
    for (int32_t tap_row = 0; tap_row < tap_rows; ++tap_row) {
      if constexpr (kTaps == 0)
        add_any_row<Sums, kCount>(run, x, weights, sums);
      else
        add_row<Sums, kCount, kTaps, kStride>(x, pixel, weights, weight_pixel, outside, sums);
      x += x_tap_row;
      weights += weight_row;
    }
    end_sums<kCount>(run, limits, sums, run.bias + c,
                     run.residual == nullptr ? nullptr : run.residual + c, run.y + c);
    if (c == last) return;
  }
}

template <class T>
using RunFunction = void (*)(const Run<T>& run);

// The number of outputs names a function.
template <class T>
struct RunFunctions {
  RunFunction<T> of_8;
  RunFunction<T> of_7;
  RunFunction<T> of_4;
  RunFunction<T> of_1;
  // These compute two rows at once; null: there is none.
  RunFunction<T> pair_of_8 = nullptr;
  RunFunction<T> pair_of_7 = nullptr;

  RunFunction<T> of(int32_t outputs, int rows) const {
    if (rows == 2) return outputs == 8 ? pair_of_8 : pair_of_7;
    return outputs == 8 ? of_8 : outputs == 7 ? of_7 : outputs == 4 ? of_4 : of_1;
  }
};

template <class Sums, int kCount, int kTaps, int kStride>
HWY_NOINLINE void compute_run(const Run<typename Sums::Element>& run) {
  run_channels<Sums, kCount, kTaps, kStride>(run);
}
#if HWY_TARGET == HWY_NEON
template <int kCount, int kTaps, int kStride>
CODL_HALF_ARITHMETIC HWY_NOINLINE void compute_half_run(const Run<Half>& run) {
  run_channels<HalfTaps, kCount, kTaps, kStride>(run);
}
#endif

template <class Sums, int kCount, int kTaps, int kStride>
constexpr RunFunction<typename Sums::Element> run_function() {
#if HWY_TARGET == HWY_NEON
  if constexpr (std::is_same_v<Sums, HalfTaps>) return compute_half_run<kCount, kTaps, kStride>;
#endif
  return compute_run<Sums, kCount, kTaps, kStride>;
}

template <class Sums, int kTaps, int kStride>
constexpr RunFunctions<typename Sums::Element> run_functions() {
  if constexpr (kMaxPixels == 1) {
    constexpr auto kOne = run_function<Sums, 1, 0, 0>();
    return {kOne, kOne, kOne, kOne};
  } else {
    RunFunctions<typename Sums::Element> functions = {
        run_function<Sums, 8, kTaps, kStride>(), run_function<Sums, 7, kTaps, kStride>(),
        run_function<Sums, 4, kTaps, kStride>(), run_function<Sums, 1, kTaps, kStride>()};
    if constexpr (kHasRowPairs && kTaps == 3) {
      functions.pair_of_8 = compute_row_pair<Sums, 8, kStride>;
      functions.pair_of_7 = compute_row_pair<Sums, 7, kStride>;
    }
    return functions;
  }
}

template <class Sums>
RunFunctions<typename Sums::Element> functions_for(const WindowAxis& axis, int32_t input,
                                                   int32_t output) {
  // Processors that compute floats from halves are few, and share one function for all filters.
  if constexpr (std::is_same_v<Sums, FloatTaps<Half>>) return run_functions<Sums, 0, 0>();
  // Where padding hides all taps of an output, or outputs in their middle, ask every input.
  const int64_t last = int64_t{output - 1} * axis.stride - axis.pad_begin;
  if (axis.pad_begin >= axis.taps || last >= input) return run_functions<Sums, 0, 0>();
  if (axis.dilation == 1 && axis.taps == 3 && axis.stride == 1) return run_functions<Sums, 3, 1>();
  if (axis.dilation == 1 && axis.taps == 3 && axis.stride == 2) return run_functions<Sums, 3, 2>();
  if (axis.dilation == 1 && axis.taps == 5 && axis.stride == 1) return run_functions<Sums, 5, 1>();
  if (axis.dilation == 1 && axis.taps == 5 && axis.stride == 2) return run_functions<Sums, 5, 2>();
  if (axis.taps == 1 && axis.stride == 1) return run_functions<Sums, 1, 1>();
  return run_functions<Sums, 0, 0>();
}

// Returns the outputs of the next run when `rest` are left. Sevens make up the maps of most
// networks.
constexpr int32_t run_count(int32_t rest) {
  if (kMaxPixels == 1) return 1;
  if (rest % 7 == 0 && rest % 8 != 0) return 7;
  return rest >= 8 ? 8 : rest >= 4 ? 4 : 1;
}

// Computes the vector of channels from `c` on of row `row_of_two`, of a block of which `valid` are
// computed, and stores zeros after them up to `stored`.
template <class Sums, int kCount>
HWY_INLINE void rest_of_channels(const Run<typename Sums::Element>& run, int row_of_two, int64_t c,
                                 int64_t valid, int64_t stored) {
  using T = typename Sums::Element;
  using Sum = typename Sums::Sum;
  const T* x_row = run.x + row_of_two * run.stride * run.x_tap_row + c;
  const int64_t y_row = row_of_two * run.y_row + c;
  const int64_t residual_row = row_of_two * run.residual_row + c;
  const int64_t pixel = run.x_pixel;
  Sum sums[kCount];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) sums[i] = Sums::begin(run.bias + c);
  for (int32_t tap_row = 0; tap_row < run.tap_rows; ++tap_row, x_row += run.x_tap_row)
    for (int32_t tap = 0; tap < run.tap_columns; ++tap) {
      const Sum w = Sums::load(run.weights + tap_row * run.weight_row + tap * run.weight_pixel + c);
      const int64_t column = int64_t{run.column} + int64_t{tap} * run.dilation;
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) {
        const int64_t place = column + int64_t{i} * run.stride;
        if (run.is_inside(place))
          Sums::add(Sums::load_some(x_row + place * pixel, stored - c), w, sums[i]);
      }
    }
  const T* residual = run.residual;
  if (residual != nullptr) residual += residual_row;
  const auto lanes = [](int64_t count) {
    return static_cast<int32_t>(count < Sums::kLanes ? count : Sums::kLanes);
  };
  end_some<Sums, kCount>(run, sums, run.bias + c, residual, run.y + y_row,
                         {lanes(valid - c), lanes(stored - c)});
}

template <class Sums, int kCount>
HWY_NOINLINE void compute_rest(const Run<typename Sums::Element>& run, int row_of_two, int64_t c,
                               int64_t valid, int64_t stored) {
  rest_of_channels<Sums, kCount>(run, row_of_two, c, valid, stored);
}
#if HWY_TARGET == HWY_NEON
template <class Sums, int kCount>
CODL_HALF_ARITHMETIC HWY_NOINLINE void compute_half_rest(const Run<Half>& run, int row_of_two,
                                                         int64_t c, int64_t valid, int64_t stored) {
  rest_of_channels<Sums, kCount>(run, row_of_two, c, valid, stored);
}
#endif

// Does the same, an output at a time if vectors of four lanes leave no rest but in parts of
// channels.
template <class Sums, int kCount>
void compute_rests(const Run<typename Sums::Element>& run, int row_of_two, int64_t c, int64_t valid,
                   int64_t stored) {
  if constexpr (kCount == 1 || Sums::kLanes > kChannelPad) {
#if HWY_TARGET == HWY_NEON
    if constexpr (std::is_same_v<Sums, HalfTaps>)
      return compute_half_rest<Sums, kCount>(run, row_of_two, c, valid, stored);
#endif
    compute_rest<Sums, kCount>(run, row_of_two, c, valid, stored);
  } else {
    Run<typename Sums::Element> one = run;
    for (int i = 0; i < kCount; ++i) {
      compute_rest<Sums, 1>(one, row_of_two, c, valid, stored);
      one.column += run.stride;
      one.y += run.y_pixel;
      if (one.residual != nullptr) one.residual += run.residual_pixel;
    }
  }
}

template <class T>
using RestFunction = void (*)(const Run<T>& run, int row_of_two, int64_t c, int64_t valid,
                              int64_t stored);
template <class Sums>
RestFunction<typename Sums::Element> rest_function(int32_t outputs) {
  if constexpr (kMaxPixels > 1) {
    if (outputs == 8) return compute_rests<Sums, 8>;
    if (outputs == 7) return compute_rests<Sums, 7>;
    if (outputs == 4) return compute_rests<Sums, 4>;
  }
  return compute_rests<Sums, 1>;
}

// Returns the taps of output position `position` that are inside the map.
Range inner_taps(const WindowAxis& axis, int32_t input, int32_t position) {
  const int64_t first = int64_t{position} * axis.stride - axis.pad_begin;
  int64_t begin = first < 0 ? ceil_div(-first, axis.dilation) : 0;
  int64_t end = first >= input ? 0 : ceil_div(input - first, axis.dilation);
  if (end > axis.taps) end = axis.taps;
  if (begin > end) begin = end;
  return {static_cast<int32_t>(begin), static_cast<int32_t>(end)};
}

// Holds the operands, and what follows from the parameters.
template <class T>
struct Depthwise {
  const TensorView& x;
  const TensorView& w;
  const TensorView& bias;
  const TensorView* residual;
  const TensorView& y;
  WindowAxis vertical;
  WindowAxis horizontal;
  Activation activation;
  RunFunctions<T> functions;
};

// Computes channels [begin, end) of a row of outputs from `column` on, or of two that begin there
// (has_row_pair()); `stored` is the end with the pixel's pad lanes, where they go with the block.
template <class Sums, class T>
void compute_rows(const Depthwise<T>& step, int64_t image, int32_t row, int rows, int32_t column,
                  int64_t begin, int64_t end, int64_t stored) {
  const TensorView& x = step.x;
  const TensorView& w = step.w;
  const TensorView& bias = step.bias;
  const TensorView* const residual = step.residual;
  const TensorView& y = step.y;
  const int32_t input_rows = x.shape.dims[2];
  const Range taps = inner_taps(step.vertical, input_rows, row);
  const int64_t weight_pixel = panel_channels(y.shape.dims[1]);
  const int64_t weight_row = step.horizontal.taps * weight_pixel;
  // Without a tap inside the map x is not read.
  const int64_t first_row = int64_t{row} * step.vertical.stride - step.vertical.pad_begin +
                            int64_t{taps.begin} * step.vertical.dilation - x.shape.row_begin;
  Run<T> run = {
      .x = x.as<const T>() + image * x.strides[0] + (taps.empty() ? 0 : first_row * x.strides[2]) +
           begin,
      .weights = w.as<const T>() + taps.begin * weight_row + begin,
      .bias = bias.as<const float>() + begin,
      .residual = nullptr,
      .y = y.as<T>() + image * y.strides[0] + (row - y.shape.row_begin) * y.strides[2] +
           column * y.strides[3] + begin,
      .tap_rows = taps.empty() ? 0 : taps.count(),
      .tap_columns = step.horizontal.taps,
      .column = column * step.horizontal.stride - step.horizontal.pad_begin,
      .input_columns = x.shape.dims[3],
      .stride = step.horizontal.stride,
      .dilation = step.horizontal.dilation,
      .x_tap_row = step.vertical.dilation * x.strides[2],
      .x_pixel = x.strides[3],
      .y_pixel = y.strides[3],
      .residual_pixel = residual != nullptr ? residual->strides[3] : 0,
      .y_row = y.strides[2],
      .residual_row = residual != nullptr ? residual->strides[2] : 0,
      .weight_row = weight_row,
      .weight_pixel = weight_pixel,
      .channels = 0,  // below
      .activation = &step.activation,
  };
  if (residual != nullptr)
    run.residual = residual->as<const T>() + image * residual->strides[0] +
                   (row - residual->shape.row_begin) * residual->strides[2] +
                   column * run.residual_pixel + begin;
  // From run to run the one description changes in place: a copy, loaded in whole vectors, would
  // wait for the stores of its parts.
  const int64_t count = end - begin;
  const int64_t stored_count = stored - begin;
  constexpr int kLanes = Sums::kLanes;
  const bool may_begin_early = run.residual == nullptr && count == stored_count && count >= kLanes;
  run.channels = may_begin_early ? count : count / kLanes * kLanes;
  int32_t outputs = 0;
  for (; column < y.shape.dims[3]; column += outputs) {
    outputs = run_count(y.shape.dims[3] - column);
    if (rows == 2 && (outputs < 7 || run.channels == 0)) {
      compute_rows<Sums>(step, image, row, 1, column, begin, end, stored);
      return compute_rows<Sums>(step, image, row + 1, 1, column, begin, end, stored);
    }
    if (run.channels != 0) step.functions.of(outputs, rows)(run);
    for (int i = 0; i < rows; ++i) {
      for (int64_t c = run.channels; c < stored_count; c += kLanes)
        rest_function<Sums>(outputs)(run, i, c, count, stored_count);
      if constexpr (std::is_same_v<T, float>) {
        float* y_run = run.y + i * run.y_row;
        if (step.activation.has_curve)
          activate_rows(step.activation, y_run, run.y_pixel, y_run, run.y_pixel, outputs, count);
      }
    }
    run.column += outputs * run.stride;
    run.y += outputs * run.y_pixel;
    if (run.residual != nullptr) run.residual += outputs * run.residual_pixel;
  }
}

// True if `row` and the next are one piece for functions.pair_of_8.
template <class T>
bool has_row_pair(const Depthwise<T>& step, int32_t row) {
  const WindowAxis& vertical = step.vertical;
  const int64_t first = int64_t{row} * vertical.stride - vertical.pad_begin;
  return step.functions.pair_of_8 != nullptr && vertical.taps == 3 &&
         vertical.stride == step.horizontal.stride && vertical.dilation == 1 && first >= 0 &&
         first + vertical.stride + 3 <= step.x.shape.dims[2];
}

template <class Sums>
void compute_step(const KernelArgs& args) {
  using T = typename Sums::Element;
  const auto& params = args.params_as<DepthwiseConv2dParams>();
  const TensorView& y = args.output();
  const TensorView& w = args.operands[1];
  Depthwise<T> step = {
      .x = args.operands[0],
      .w = w,
      .bias = args.operands[2],
      .residual = params.has_residual != 0 ? &args.operands[3] : nullptr,
      .y = y,
      .vertical = vertical_axis(params, w.shape.dims),
      .horizontal = horizontal_axis(params, w.shape.dims),
      .activation =
          make_activation(params.activation, params.activation_alpha, params.activation_beta),
      .functions = {},
  };
  step.functions = functions_for<Sums>(step.horizontal, step.x.shape.dims[3], y.shape.dims[3]);
  const DepthwiseConv2dWork work =
      depthwise_conv2d_work(w.shape, y.shape, args.part_dim, args.part);
  const int64_t pass =
      depthwise_conv2d_pass_channels(step.vertical, step.horizontal, step.x.shape, y.shape);

  // Neighbouring tasks share panels: their rows are one piece.
  for (int64_t task = args.task_begin; task < args.task_end;) {
    const int64_t panel_block = task / work.row_blocks;
    const int64_t first_block = task % work.row_blocks;
    const int64_t last_block = first_block + (args.task_end - task) < work.row_blocks
                                   ? first_block + (args.task_end - task)
                                   : work.row_blocks;
    task += last_block - first_block;
    const Units rows =
        units_of_tasks(work.image_rows, static_cast<int32_t>(work.row_blocks),
                       static_cast<int32_t>(first_block), static_cast<int32_t>(last_block));
    const Units panels =
        units_of_tasks(work.panels.count(), static_cast<int32_t>(work.panel_blocks),
                       static_cast<int32_t>(panel_block), static_cast<int32_t>(panel_block) + 1);
    const int64_t end_panel = (work.panels.begin + panels.end) * kChannelPanel;
    const int64_t end = end_panel < y.shape.dims[1] ? end_panel : y.shape.dims[1];
    for (int64_t c = (work.panels.begin + panels.begin) * kChannelPanel; c < end;) {
      // A last pass of less than a panel would be slow.
      const int64_t next = end - c >= pass + kChannelPanel ? c + pass : end;
      const int64_t stored = next == y.shape.dims[1] ? padded_channels(y.shape) : next;
      int count = 1;
      for (int64_t unit = rows.begin; unit < rows.end; unit += count) {
        const int32_t row = work.rows.begin + static_cast<int32_t>(unit % work.rows.count());
        count = unit + 1 < rows.end && row + 1 < work.rows.end && has_row_pair(step, row) ? 2 : 1;
        compute_rows<Sums>(step, unit / work.rows.count(), row, count, 0, c, next, stored);
      }
      c = next;
    }
  }
}

bool has_halves(const KernelArgs& args) { return args.operands[1].shape.dtype == DType::F16; }

void depthwise_in_floats(const KernelArgs& args) {
  has_halves(args) ? compute_step<FloatTaps<Half>>(args) : compute_step<FloatTaps<float>>(args);
}

#if HWY_TARGET == HWY_NEON
void depthwise_in_halves(const KernelArgs& args) {
  const OperandShape& w = args.operands[1].shape;
  if (!has_halves(args) || int64_t{w.dims[2]} * w.dims[3] > kHalfSumProducts)
    return depthwise_in_floats(args);
  compute_step<HalfTaps>(args);
}
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_HALVES(depthwise_conv2d_f32_cpu, depthwise_in_floats, depthwise_in_halves);
}
#endif
