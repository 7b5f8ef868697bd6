// Nhwc pooling, vectors along the channels. One output pixel at a time, a loop over the taps that
// are inside the map; maxima of 3x3 windows along a row of outputs, whose windows share columns.
// Sums run over taps in an order that the window alone decides, so no cut of rows or channels
// changes a bit.
#include "kernels/common/cpu_dispatch.h"
#include "kernels/pool2d/pool2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool2d/pool2d_f32_cpu.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// The taps of one output pixel inside the map; steps in elements.
struct Window {
  const float* first;
  int32_t row_count;
  int32_t column_count;
  int64_t row_step;
  int64_t column_step;
  float divisor;
};

template <bool kIsMax, class V>
HWY_INLINE V combine(V sum, V value) {
  if constexpr (kIsMax) return hn::Max(sum, value);
  return hn::Add(sum, value);
}

// Sums of even taps of a row beside those of odd ones, where four vectors at once do not hide the
// latency of the additions, each of which waits for the one before. With 16 registers, eight
// vectors do, and a pixel of 64 channels is read in one go.
constexpr int kChains = HWY_TARGET == HWY_AVX2 ? 1 : 2;
constexpr int kMostVectors = HWY_TARGET == HWY_AVX2 ? 8 : 4;

// `kVectors` vectors of channels from channel `c` on.
template <bool kIsMax, int kVectors, class D>
HWY_INLINE void reduce(D d, const Window& window, int32_t c, float* y) {
  using V = hn::Vec<D>;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  V results[kChains][kVectors];
  for (int chain = 0; chain < kChains; ++chain)
    for (int v = 0; v < kVectors; ++v)
      results[chain][v] = kIsMax ? hn::Set(d, -__builtin_inff()) : hn::Zero(d);
  const auto add = [&](const float* tap, int chain) HWY_ATTR {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      results[chain][v] = combine<kIsMax>(results[chain][v], hn::LoadU(d, tap + v * lanes));
  };
  const float* row = window.first + c;
  for (int32_t i = 0; i < window.row_count; ++i, row += window.row_step) {
    const float* tap = row;
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
    hn::StoreU(result, d, y + c + v * lanes);
  }
}

// Channels [begin, end) of one pixel, a multiple of 4 of them.
template <bool kIsMax>
HWY_NOINLINE void reduce_window(const Window& window, Range channels, float* y) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, kChannelPad> narrow;
  const int32_t wide_lanes = static_cast<int32_t>(hn::Lanes(wide));
  const int32_t narrow_lanes = static_cast<int32_t>(hn::Lanes(narrow));
  int32_t c = channels.begin;
  for (; c + kMostVectors * wide_lanes <= channels.end; c += kMostVectors * wide_lanes)
    reduce<kIsMax, kMostVectors>(wide, window, c, y);
  for (; c + wide_lanes <= channels.end; c += wide_lanes) reduce<kIsMax, 1>(wide, window, c, y);
  for (; c < channels.end; c += narrow_lanes) reduce<kIsMax, 1>(narrow, window, c, y);
}

template <bool kIsMax>
void reduce_pixel(Window window, Range channels, float* y) {
  // Whole rows are one.
  if (window.column_count * window.column_step == window.row_step) {
    window.column_count *= window.row_count;
    window.row_count = 1;
  }
  reduce_window<kIsMax>(window, channels, y);
}

// Outputs of a run of 3x3 windows, and the columns under them.
constexpr int32_t kMaxRunOutputs = 32;
constexpr int32_t kMaxRunColumns = 2 * kMaxRunOutputs + 1;

// Some neighbouring outputs of 3x3 windows. A tap outside the map stands for its neighbour inside
// the window, which does not change a maximum: so `rows` may be the same twice, and so may columns.
struct MaxRun {
  const float* rows[3];
  int64_t columns[kMaxRunColumns];  // elements from the beginning of a row
  float* y;                         // of the first output
  int64_t pixel;                    // elements between pixels of y
  int32_t count;
};

// Channels whose maxima of columns are kept from one output to the next.
constexpr int32_t kMaxRunChannels = 256;

// Channels [begin, end), at most kMaxRunChannels and a multiple of the lanes of D. The maximum of a
// column of three taps serves all windows that it is in. Pixel by pixel, so that memory is read and
// written in order.
template <int kStride, class D>
void max_of_channels(D d, const MaxRun& run, int32_t begin, int32_t end) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // Copies: a store to y could change `run` for all that the compiler knows.
  const float* top = run.rows[0] + begin;
  const float* middle = run.rows[1] + begin;
  const float* bottom = run.rows[2] + begin;
  const int64_t count = end - begin;
  const auto column_max = [&](int64_t at) HWY_ATTR {
    return hn::Max(hn::Max(hn::LoadU(d, top + at), hn::LoadU(d, middle + at)),
                   hn::LoadU(d, bottom + at));
  };
  HWY_ALIGN float columns[2][kMaxRunChannels];
  float* left = columns[0];
  float* between = columns[1];
  for (int64_t c = 0; c < count; c += lanes) {
    hn::StoreU(column_max(run.columns[0] + c), d, left + c);
    if constexpr (kStride == 1) hn::StoreU(column_max(run.columns[1] + c), d, between + c);
  }
  float* y = run.y + begin;
  for (int32_t i = 0; i < run.count; ++i, y += run.pixel) {
    const int64_t second = run.columns[i * kStride + 1];
    const int64_t third = run.columns[i * kStride + 2];
#pragma GCC unroll 2
    for (int64_t c = 0; c < count; c += lanes) {
      const auto right = column_max(third + c);
      auto most = hn::Max(hn::LoadU(d, left + c), right);
      most = hn::Max(most, kStride == 2 ? column_max(second + c) : hn::LoadU(d, between + c));
      hn::StoreU(most, d, y + c);
      hn::StoreU(right, d, left + c);
    }
    // The column that was just kept is the last but one of the next window.
    if constexpr (kStride == 1) {
      float* oldest = left;
      left = between;
      between = oldest;
    }
  }
}

// Channels as in reduce_window().
template <int kStride>
HWY_NOINLINE void max_of_run(const MaxRun& run, Range channels) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, kChannelPad> narrow;
  const int32_t wide_lanes = static_cast<int32_t>(hn::Lanes(wide));
  const int32_t wide_end =
      channels.begin + (channels.end - channels.begin) / wide_lanes * wide_lanes;
  int32_t end = channels.begin;
  for (int32_t c = channels.begin; c < wide_end; c = end) {
    end = wide_end - c < kMaxRunChannels ? wide_end : c + kMaxRunChannels;
    max_of_channels<kStride>(wide, run, c, end);
  }
  if (end < channels.end) max_of_channels<kStride>(narrow, run, end, channels.end);
}

// Scalar code is there to be right.
bool has_max_runs(const Pool2dParams& params) {
  return HWY_TARGET != HWY_SCALAR && params.kind == kPool2dMax && params.kernel_h == 3 &&
         params.kernel_w == 3 && params.dilation_h == 1 && params.dilation_w == 1 &&
         params.stride_w == params.stride_h && (params.stride_w == 1 || params.stride_w == 2);
}

// A row of outputs. `x_row`: the first of `row_count` rows of taps inside the map.
void max_of_row(const Pool2dParams& params, const TensorView& x, const float* x_row,
                int32_t row_count, Range channels, int32_t columns, float* y_row) {
  const int64_t row = x.strides[2];
  MaxRun run;
  for (int32_t i = 0; i < 3; ++i) run.rows[i] = x_row + (i < row_count ? i : row_count - 1) * row;
  run.pixel = x.strides[3];
  for (int32_t ow = 0; ow < columns; ow += run.count) {
    run.count = columns - ow < kMaxRunOutputs ? columns - ow : kMaxRunOutputs;
    run.y = y_row + ow * run.pixel;
    const int32_t last_column = x.shape.dims[3] - 1;
    int32_t column = ow * params.stride_w - params.pad_left;
    for (int32_t i = 0; i < (run.count - 1) * params.stride_w + 3; ++i, ++column)
      run.columns[i] = (column < 0 ? 0 : column > last_column ? last_column : column) * run.pixel;
    (params.stride_w == 1 ? max_of_run<1> : max_of_run<2>)(run, channels);
  }
}

void pool2d_f32(const KernelArgs& args) {
  const auto& params = args.params_as<Pool2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const Pool2dWork work = pool2d_work(params, args.part_dim, args.part, y.shape);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t row = unit / work.blocks;
    const int32_t block = static_cast<int32_t>(unit % work.blocks);
    const int64_t n = row / work.rows.count();
    const int32_t oh = work.rows.begin + static_cast<int32_t>(row % work.rows.count());
    Range channels = work.channels;
    if (work.blocks > 1) {
      channels.begin += block * kPool2dChannelBlock;
      if (channels.end > channels.begin + kPool2dChannelBlock)
        channels.end = channels.begin + kPool2dChannelBlock;
    }
    const PoolTaps vertical = pool2d_taps(oh, params.stride_h, params.dilation_h, params.kernel_h,
                                          params.pad_top, params.pad_bottom, x.shape.dims[2]);
    const int32_t first_row =
        vertical.start + vertical.begin * params.dilation_h - x.shape.row_begin;
    const float* x_row = x.as<const float>() + n * x.strides[0] + first_row * x.strides[2];
    float* y_row = y.as<float>() + n * y.strides[0] + (oh - y.shape.row_begin) * y.strides[2];
    if (has_max_runs(params)) {
      const int32_t row_count = vertical.end - vertical.begin;
      max_of_row(params, x, x_row, row_count, channels, y.shape.dims[3], y_row);
      continue;
    }
    for (int32_t ow = 0; ow < y.shape.dims[3]; ++ow) {
      const PoolTaps horizontal =
          pool2d_taps(ow, params.stride_w, params.dilation_w, params.kernel_w, params.pad_left,
                      params.pad_right, x.shape.dims[3]);
      Window window;
      window.first =
          x_row + (horizontal.start + horizontal.begin * params.dilation_w) * x.strides[3];
      window.row_count = vertical.end - vertical.begin;
      window.column_count = horizontal.end - horizontal.begin;
      window.row_step = params.dilation_h * x.strides[2];
      window.column_step = params.dilation_w * x.strides[3];
      window.divisor =
          params.count_include_pad != 0
              ? static_cast<float>(vertical.padded_count) *
                    static_cast<float>(horizontal.padded_count)
              : static_cast<float>(window.row_count) * static_cast<float>(window.column_count);
      float* pixel = y_row + ow * y.strides[3];
      if (params.kind == kPool2dMax)
        reduce_pixel<true>(window, channels, pixel);
      else
        reduce_pixel<false>(window, channels, pixel);
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(pool2d_f32_cpu, pool2d_f32);
}
#endif
