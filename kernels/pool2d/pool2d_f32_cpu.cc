// Nhwc pooling: one output pixel at a time, vectors along the channels, a loop over the taps that
// are inside the map. Sums run over taps in order, so no cut of rows or channels changes a bit.
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

// `kVectors` vectors of channels from channel `c` on. Several at once hide the latency of the
// additions, each of which waits for the one before. kSide: the window is so many taps by so many;
// 0: any.
template <bool kIsMax, int kSide, int kVectors, class D>
HWY_INLINE void reduce(D d, const Window& window, int32_t c, float* y) {
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto start = kIsMax ? hn::Set(d, -__builtin_inff()) : hn::Zero(d);
  auto sum0 = start, sum1 = start, sum2 = start, sum3 = start;
  const float* row = window.first + c;
  const int32_t rows = kSide == 0 ? window.row_count : kSide;
  const int32_t columns = kSide == 0 ? window.column_count : kSide;
#pragma GCC unroll 3
  for (int32_t i = 0; i < rows; ++i, row += window.row_step) {
    const float* tap = row;
#pragma GCC unroll 3
    for (int32_t j = 0; j < columns; ++j, tap += window.column_step) {
      sum0 = combine<kIsMax>(sum0, hn::LoadU(d, tap));
      if constexpr (kVectors == 4) {
        sum1 = combine<kIsMax>(sum1, hn::LoadU(d, tap + lanes));
        sum2 = combine<kIsMax>(sum2, hn::LoadU(d, tap + 2 * lanes));
        sum3 = combine<kIsMax>(sum3, hn::LoadU(d, tap + 3 * lanes));
      }
    }
  }
  if constexpr (!kIsMax) {
    const auto divisor = hn::Set(d, window.divisor);
    sum0 = hn::Div(sum0, divisor);
    sum1 = hn::Div(sum1, divisor);
    sum2 = hn::Div(sum2, divisor);
    sum3 = hn::Div(sum3, divisor);
  }
  hn::StoreU(sum0, d, y + c);
  if constexpr (kVectors == 4) {
    hn::StoreU(sum1, d, y + c + lanes);
    hn::StoreU(sum2, d, y + c + 2 * lanes);
    hn::StoreU(sum3, d, y + c + 3 * lanes);
  }
}

// Channels [begin, end) of one pixel, a multiple of 4 of them.
template <bool kIsMax, int kSide>
HWY_NOINLINE void reduce_window(const Window& window, Range channels, float* y) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, kChannelPad> narrow;
  const int32_t wide_lanes = static_cast<int32_t>(hn::Lanes(wide));
  const int32_t narrow_lanes = static_cast<int32_t>(hn::Lanes(narrow));
  int32_t c = channels.begin;
  for (; c + 4 * wide_lanes <= channels.end; c += 4 * wide_lanes)
    reduce<kIsMax, kSide, 4>(wide, window, c, y);
  for (; c + wide_lanes <= channels.end; c += wide_lanes)
    reduce<kIsMax, kSide, 1>(wide, window, c, y);
  for (; c < channels.end; c += narrow_lanes) reduce<kIsMax, kSide, 1>(narrow, window, c, y);
}

template <bool kIsMax>
void reduce_pixel(Window window, Range channels, float* y) {
  if (kIsMax && window.row_count == 3 && window.column_count == 3)
    return reduce_window < kIsMax, kIsMax ? 3 : 0 > (window, channels, y);
  // Whole rows are one.
  if (window.column_count * window.column_step == window.row_step) {
    window.column_count *= window.row_count;
    window.row_count = 1;
  }
  reduce_window<kIsMax, 0>(window, channels, y);
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
