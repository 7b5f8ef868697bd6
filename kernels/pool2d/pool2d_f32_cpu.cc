// Pools Nhwc maps with vectors along the channels. Each output pixel loops over the taps that are
// inside the map. Maxima of 3x3 windows go along a row of outputs, whose windows share columns, a
// strip of columns at a time, so that rows are still in the first-level cache for the next windows.
// Sums run over taps in an order that the window alone decides, so no cut of rows or channels
// changes a bit. Halves become floats, but for maxima where the processor compares halves. Maxima
// of bytes are bytes, their averages sums of steps of the grid.
#include <type_traits>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/pool2d/pool2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool2d/pool2d_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/bytes-inl.h"
#include "kernels/common/cpu/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Describes the taps of one output pixel inside the map; steps are in elements.
template <class T>
struct Window {
  const T* first;
  int32_t row_count;
  int32_t column_count;
  int64_t row_step;
  int64_t column_step;
  float divisor;
  // Bytes have zero points; this is the step of x in those of y.
  int32_t x_zero;
  int32_t y_zero;
  float step;
};

template <bool kIsMax, class V>
HWY_INLINE V combine(V sum, V value) {
  if constexpr (kIsMax) return larger(sum, value);
  return hn::Add(sum, value);
}

// Even taps of a row have sums beside those of odd ones, where four vectors at once do not hide the
// latency of the additions, each of which waits for the one before. With 16 registers, eight
// vectors do, and a pixel of 64 channels is read in one go.
constexpr int kChains = HWY_TARGET == HWY_AVX2 ? 1 : 2;
constexpr int kMaxVectors = HWY_TARGET == HWY_AVX2 ? 8 : 4;

// Reduces `kVectors` vectors of channels from channel `c` on.
template <bool kIsMax, int kVectors, class D, class T>
HWY_INLINE void reduce(D d, const Window<T>& window, int32_t c, T* y) {
  using V = hn::Vec<D>;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  V results[kChains][kVectors];
  for (int chain = 0; chain < kChains; ++chain)
    for (int v = 0; v < kVectors; ++v)
      results[chain][v] = kIsMax ? hn::Set(d, -__builtin_inff()) : hn::Zero(d);
  const auto add = [&](const T* tap, int chain) HWY_ATTR {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      results[chain][v] = combine<kIsMax>(results[chain][v], load_floats(d, tap + v * lanes));
  };
  const T* row = window.first + c;
  for (int32_t i = 0; i < window.row_count; ++i, row += window.row_step) {
    const T* tap = row;
    int32_t j = 0;
    for (; j + kChains <= window.column_count; j += kChains)
#pragma GCC unroll 2
      for (int chain = 0; chain < kChains; ++chain, tap += window.column_step) add(tap, chain);
    if (j < window.column_count) add(tap, 0);
  }
  for (int v = 0; v < kVectors; ++v) {
    V result = results[0][v];
    if constexpr (kChains == 2) result = combine<kIsMax>(result, results[1][v]);
    if constexpr (!kIsMax) result = hn::Div(result, hn::Set(d, window.divisor));
    store_floats(d, result, y + c + v * lanes);
  }
}

// Computes channels [begin, end) of one pixel, a multiple of 4 of them.
template <bool kIsMax, class T>
HWY_NOINLINE void reduce_window(const Window<T>& window, Range channels, T* y) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, kChannelPad> narrow;
  const int32_t wide_lanes = static_cast<int32_t>(hn::Lanes(wide));
  const int32_t narrow_lanes = static_cast<int32_t>(hn::Lanes(narrow));
  int32_t c = channels.begin;
  // Halves take longer to become floats than an addition waits for the one before.
  if constexpr (std::is_same_v<T, float>)
    for (; c + kMaxVectors * wide_lanes <= channels.end; c += kMaxVectors * wide_lanes)
      reduce<kIsMax, kMaxVectors>(wide, window, c, y);
  for (; c + wide_lanes <= channels.end; c += wide_lanes) reduce<kIsMax, 1>(wide, window, c, y);
  for (; c < channels.end; c += narrow_lanes) reduce<kIsMax, 1>(narrow, window, c, y);
}

// Calls add(tap) for each tap.
template <class T, class Add>
HWY_INLINE void for_taps(const Window<T>& window, int32_t c, Add add) {
  const T* row = window.first + c;
  for (int32_t i = 0; i < window.row_count; ++i, row += window.row_step) {
    const T* tap = row;
    for (int32_t j = 0; j < window.column_count; ++j, tap += window.column_step) add(tap);
  }
}

template <int kVectors, class D>
HWY_INLINE void max_of_bytes(D d, const Window<int8_t>& window, int32_t c, int8_t* y) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  hn::Vec<D> results[kVectors];
  for (int v = 0; v < kVectors; ++v) results[v] = hn::Set(d, int8_t{-128});
  for_taps(window, c, [&](const int8_t* tap) HWY_ATTR {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      results[v] = hn::Max(results[v], hn::LoadU(d, tap + v * lanes));
  });
  for (int v = 0; v < kVectors; ++v) hn::StoreU(results[v], d, y + c + v * lanes);
}

HWY_NOINLINE void max_byte_window(const Window<int8_t>& window, Range channels, int8_t* y) {
  const hn::ScalableTag<int8_t> wide;
  const hn::CappedTag<int8_t, kChannelPanel> panel;
  const hn::CappedTag<int8_t, kChannelPad> narrow;
  const int32_t wide_lanes = static_cast<int32_t>(hn::Lanes(wide));
  const int32_t panel_lanes = static_cast<int32_t>(hn::Lanes(panel));
  const int32_t narrow_lanes = static_cast<int32_t>(hn::Lanes(narrow));
  int32_t c = channels.begin;
  for (; c + 4 * wide_lanes <= channels.end; c += 4 * wide_lanes)
    max_of_bytes<4>(wide, window, c, y);
  for (; c + wide_lanes <= channels.end; c += wide_lanes) max_of_bytes<1>(wide, window, c, y);
  for (; c + panel_lanes <= channels.end; c += panel_lanes) max_of_bytes<1>(panel, window, c, y);
  for (; c < channels.end; c += narrow_lanes) max_of_bytes<1>(narrow, window, c, y);
}

// Sums of steps are exact below 2^24: of 65,000 taps at least.
template <int kVectors, class D>
HWY_INLINE void average_of_bytes(D d, const Window<int8_t>& window, int32_t c, int8_t* y) {
  using V = hn::Vec<D>;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  V sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for_taps(window, c, [&](const int8_t* tap) HWY_ATTR {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sums[v] = hn::Add(sums[v], load_steps(d, tap + v * lanes, window.x_zero));
  });
  const StepWriter<D> writer(d, window.y_zero, -__builtin_inff(), __builtin_inff());
  const V step = hn::Set(d, window.step);
  const V divisor = hn::Set(d, window.divisor);
  for (int v = 0; v < kVectors; ++v)
    writer.store(d, hn::Div(hn::Mul(sums[v], step), divisor), y + c + v * lanes);
}

HWY_NOINLINE void average_byte_window(const Window<int8_t>& window, Range channels, int8_t* y) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, kChannelPad> narrow;
  const int32_t wide_lanes = static_cast<int32_t>(hn::Lanes(wide));
  const int32_t narrow_lanes = static_cast<int32_t>(hn::Lanes(narrow));
  int32_t c = channels.begin;
  for (; c + 4 * wide_lanes <= channels.end; c += 4 * wide_lanes)
    average_of_bytes<4>(wide, window, c, y);
  for (; c + wide_lanes <= channels.end; c += wide_lanes) average_of_bytes<1>(wide, window, c, y);
  for (; c < channels.end; c += narrow_lanes) average_of_bytes<1>(narrow, window, c, y);
}

#if HWY_TARGET == HWY_NEON
template <int kVectors>
CODL_HALF_ARITHMETIC HWY_NOINLINE void max_of_halves(const Window<Half>& window, int32_t c,
                                                     Half* y) {
  HalfVec results[kVectors];
  for (int v = 0; v < kVectors; ++v) results[v] = spread_half(-__builtin_inff());
  const Half* row = window.first + c;
  for (int32_t i = 0; i < window.row_count; ++i, row += window.row_step) {
    const Half* tap = row;
    for (int32_t j = 0; j < window.column_count; ++j, tap += window.column_step)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        results[v] = larger_halves(results[v], load_halves(tap + v * kHalfLanes));
  }
  for (int v = 0; v < kVectors; ++v) store_halves(results[v], y + c + v * kHalfLanes);
}

// Does reduce_window() without making floats of the halves.
void reduce_half_window(const Window<Half>& window, Range channels, Half* y) {
  int32_t c = channels.begin;
  for (; c + 4 * kHalfLanes <= channels.end; c += 4 * kHalfLanes) max_of_halves<4>(window, c, y);
  for (; c + kHalfLanes <= channels.end; c += kHalfLanes) max_of_halves<1>(window, c, y);
  if (c < channels.end) reduce_window<true>(window, {c, channels.end}, y);
}
#endif

template <class T>
void reduce_pixel(void (*reduce_channels)(const Window<T>&, Range, T*), Window<T> window,
                  Range channels, T* y) {
  // Whole rows are one.
  if (window.column_count * window.column_step == window.row_step) {
    window.column_count *= window.row_count;
    window.row_count = 1;
  }
  reduce_channels(window, channels, y);
}

// A run of outputs of 3x3 windows has at most so many columns under it.
constexpr int32_t kMaxRunColumns = 2 * kPool2dMostRunOutputs + 1;

// Describes some neighbouring outputs of 3x3 windows. Instead of a tap outside the map, its
// neighbour inside the window is used, which does not change a maximum: so `rows` may have the same
// row twice, and so may columns.
struct MaxRun {
  const float* rows[3];
  int64_t columns[kMaxRunColumns];  // elements from the beginning of a row
  float* y;                         // the first output
  int64_t y_pixel;                  // elements between pixels of y
  int32_t count;
};

// Reduces `kVectors` vectors of channels from channel `c` on. The maximum of a column of three taps
// serves all windows that contain it.
template <int kStride, int kVectors, class D>
HWY_INLINE void max_of_channels(D d, const MaxRun& run, int32_t c) {
  using V = hn::Vec<D>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // Copies: a store to y could change `run` for all that the compiler knows.
  const float* top = run.rows[0] + c;
  const float* middle = run.rows[1] + c;
  const float* bottom = run.rows[2] + c;
  const auto column_max = [&](int64_t at) HWY_ATTR {
    return larger(larger(hn::LoadU(d, top + at), hn::LoadU(d, middle + at)),
                  hn::LoadU(d, bottom + at));
  };
  V left[kVectors];
  V between[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    left[v] = column_max(run.columns[0] + v * lanes);
    if constexpr (kStride == 1) between[v] = column_max(run.columns[1] + v * lanes);
  }
  float* y = run.y + c;
  for (int32_t i = 0; i < run.count; ++i, y += run.y_pixel) {
    const int64_t second = run.columns[i * kStride + 1];
    const int64_t third = run.columns[i * kStride + 2];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const V right = column_max(third + v * lanes);
      if constexpr (kStride == 2) between[v] = column_max(second + v * lanes);
      hn::StoreU(larger(larger(left[v], right), between[v]), d, y + v * lanes);
      // The last column of this window is the first but one of the next, or (stride 2) the first.
      left[v] = kStride == 1 ? between[v] : right;
      if constexpr (kStride == 1) between[v] = right;
    }
  }
}

// The channels are as in reduce_window().
template <int kStride>
HWY_NOINLINE void max_of_run(const MaxRun& run, Range channels) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, kChannelPad> narrow;
  const int32_t wide_lanes = static_cast<int32_t>(hn::Lanes(wide));
  const int32_t narrow_lanes = static_cast<int32_t>(hn::Lanes(narrow));
  constexpr int kVectors = kStride == 1 ? 4 : kMaxVectors;
  int32_t c = channels.begin;
  for (; c + kVectors * wide_lanes <= channels.end; c += kVectors * wide_lanes)
    max_of_channels<kStride, kVectors>(wide, run, c);
  for (; c + wide_lanes <= channels.end; c += wide_lanes) max_of_channels<kStride, 1>(wide, run, c);
  for (; c < channels.end; c += narrow_lanes) max_of_channels<kStride, 1>(narrow, run, c);
}

// Returns the run of outputs from column `first` on, but for its rows.
MaxRun max_run(const Pool2dParams& params, const TensorView& x, const TensorView& y, int32_t first,
               int32_t count) {
  MaxRun run;
  run.y_pixel = y.strides[3];
  run.count = count;
  const int32_t last_column = x.shape.dims[3] - 1;
  int32_t column = first * params.stride_w - params.pad_left;
  for (int32_t i = 0; i < (count - 1) * params.stride_w + 3; ++i, ++column)
    run.columns[i] = (column < 0 ? 0 : column > last_column ? last_column : column) * x.strides[3];
  return run;
}

// Describes the row of outputs, or the block of its channels, that is one unit of work.
template <class T>
struct OutputRow {
  const T* x;  // the first of the rows of taps inside the map
  T* y;
  PoolTaps vertical;
  Range channels;
};

template <class T>
OutputRow<T> output_row(const Pool2dParams& params, const Pool2dWork& work, const TensorView& x,
                        const TensorView& y, int64_t unit) {
  const int64_t row = unit / work.blocks;
  const int32_t block = static_cast<int32_t>(unit % work.blocks);
  const int64_t n = row / work.rows.count();
  const int32_t oh = work.rows.begin + static_cast<int32_t>(row % work.rows.count());
  OutputRow<T> out = {};
  out.channels = work.channels;
  if (work.blocks > 1) {
    out.channels.begin += block * kPool2dChannelBlock;
    if (out.channels.end > out.channels.begin + kPool2dChannelBlock)
      out.channels.end = out.channels.begin + kPool2dChannelBlock;
  }
  out.vertical = pool2d_taps(oh, params.stride_h, params.dilation_h, params.kernel_h,
                             params.pad_top, params.pad_bottom, x.shape.dims[2]);
  const int32_t first_row =
      out.vertical.start + out.vertical.begin * params.dilation_h - x.shape.row_begin;
  out.x = x.as<const T>() + n * x.strides[0] + first_row * x.strides[2];
  out.y = y.as<T>() + n * y.strides[0] + (oh - y.shape.row_begin) * y.strides[2];
  return out;
}

void max_of_units(const Pool2dParams& params, const Pool2dWork& work, const TensorView& x,
                  const TensorView& y, Units units) {
  const int32_t columns = y.shape.dims[3];
  if (units.begin == units.end) return;
  const int32_t outputs =
      pool2d_run_outputs(columns, params.stride_w, work.channels.count() * int64_t{sizeof(float)});
  for (int32_t ow = 0; ow < columns; ow += outputs) {
    MaxRun run = max_run(params, x, y, ow, columns - ow < outputs ? columns - ow : outputs);
    auto row = output_row<float>(params, work, x, y, units.begin);
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      const Range channels = row.channels;
      const int32_t last_row = row.vertical.end - row.vertical.begin - 1;
      for (int32_t i = 0; i < 3; ++i)
        run.rows[i] = row.x + (i < last_row ? i : last_row) * x.strides[2];
      run.y = row.y + ow * run.y_pixel;
      // The next row's place takes divisions: they are done while this one waits for memory.
      if (unit + 1 < units.end) row = output_row<float>(params, work, x, y, unit + 1);
      (params.stride_w == 1 ? max_of_run<1> : max_of_run<2>)(run, channels);
    }
  }
}

// Zeroes them in each row of outputs, together with its first block of channels.
template <class T>
void zero_added_channels(int32_t count, const Pool2dParams& params, const Pool2dWork& work,
                         const TensorView& x, const TensorView& y, Units units) {
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    if (unit % work.blocks != 0) continue;
    T* added = output_row<T>(params, work, x, y, unit).y + x.shape.dims[1];
    for (int32_t ow = 0; ow < y.shape.dims[3]; ++ow, added += y.strides[3])
      __builtin_memset(static_cast<void*>(added), y.shape.zero_point,
                       static_cast<size_t>(count) * sizeof(T));
  }
}

template <class T>
using ReduceWindow = void (*)(const Window<T>& window, Range channels, T* y);

template <class T>
void pool2d(const KernelArgs& args, ReduceWindow<T> max_of_window,
            ReduceWindow<T> average_of_window) {
  const auto& params = args.params_as<Pool2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const Pool2dWork work = pool2d_work(params, args.part_dim, args.part, x.shape, y.shape);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  if (const int32_t added = pool2d_added_channels(x.shape, y.shape))
    zero_added_channels<T>(added, params, work, x, y, units);
  // Scalar code is there to be right.
  if constexpr (std::is_same_v<T, float>)
    if (HWY_TARGET != HWY_SCALAR && pool2d_has_max_runs(params))
      return max_of_units(params, work, x, y, units);
  const float step = is_quantised(y.shape) ? x.shape.scale / y.shape.scale : 0.0f;
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const auto row = output_row<T>(params, work, x, y, unit);
    for (int32_t ow = 0; ow < y.shape.dims[3]; ++ow) {
      const PoolTaps horizontal =
          pool2d_taps(ow, params.stride_w, params.dilation_w, params.kernel_w, params.pad_left,
                      params.pad_right, x.shape.dims[3]);
      Window<T> window;
      window.first =
          row.x + (horizontal.start + horizontal.begin * params.dilation_w) * x.strides[3];
      window.row_count = row.vertical.end - row.vertical.begin;
      window.column_count = horizontal.end - horizontal.begin;
      window.row_step = params.dilation_h * x.strides[2];
      window.column_step = params.dilation_w * x.strides[3];
      window.divisor =
          params.count_include_pad != 0
              ? static_cast<float>(row.vertical.padded_count) *
                    static_cast<float>(horizontal.padded_count)
              : static_cast<float>(window.row_count) * static_cast<float>(window.column_count);
      window.x_zero = x.shape.zero_point;
      window.y_zero = y.shape.zero_point;
      window.step = step;
      reduce_pixel(params.kind == kPool2dMax ? max_of_window : average_of_window, window,
                   row.channels, row.y + ow * y.strides[3]);
    }
  }
}

void pool2d_in_floats(const KernelArgs& args) {
  switch (args.output().shape.dtype) {
    case DType::I8:
      return pool2d<int8_t>(args, max_byte_window, average_byte_window);
    case DType::F16:
      return pool2d<Half>(args, reduce_window<true, Half>, reduce_window<false, Half>);
    default:
      return pool2d<float>(args, reduce_window<true, float>, reduce_window<false, float>);
  }
}

#if HWY_TARGET == HWY_NEON
void pool2d_in_halves(const KernelArgs& args) {
  if (args.output().shape.dtype != DType::F16) return pool2d_in_floats(args);
  pool2d<Half>(args, reduce_half_window, reduce_window<false, Half>);
}
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_HALVES(pool2d_f32_cpu, pool2d_in_floats, pool2d_in_halves);
}
#endif
