// Depthwise 2-D convolution, Nhwc, float32: vectors along the channels, 16 of them (a cache line of
// each pixel) at a time, for several neighbouring pixels of a row, so that a weight loaded serves
// them all. A 3x3 filter that moves by one also reuses its inputs: a load serves three outputs.
//
// Taps in the padding are left out. Which those are depends on the output position alone, and the
// others are added in order, so no cut of rows, channels or tasks changes a bit.
#include "kernels/common/cpu_dispatch.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_conv2d/depthwise_conv2d_f32_cpu.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation-inl.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kChannelPanel>;
using Vec = hn::Vec<Tag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag{}));
constexpr int kVectors = kChannelPanel / kLanes;
// Pixels at once, where there are so many; else 4, else 1: enough sums to hide the latency of an
// addition (4 cycles, two per cycle), few enough for the registers with three columns of weights
// beside them.
constexpr int kPixels = kVectors == 1 ? 8 : kVectors <= 4 ? 4 : 1;

// One panel of channels of one output row.
struct Row {
  const float* x;  // row of the first tap inside the map, column 0, first channel of the panel
  const float* weights;  // of the first tap row inside the map, column 0
  const float* bias;
  const float* residual;  // or null
  float* y;
  int32_t tap_rows;   // inside the map
  int64_t x_tap_row;  // elements between rows of taps
  int64_t x_pixel;    // elements between input pixels, which is also those of y
  int64_t y_pixel;
  int64_t weight_row;  // elements between rows of weights
  int64_t weight_pixel;
  int32_t stored_lanes;
  int32_t valid_lanes;
};

template <bool kIsWhole>
HWY_INLINE Vec load(const Row& row, const float* p, int v) {
  if constexpr (kIsWhole) return hn::LoadU(Tag{}, p + v * kLanes);
  return load_lanes(Tag{}, p + v * kLanes, row.stored_lanes - v * kLanes);
}

// Outputs `column` to `column + kCount` of the row, whose taps [tap_begin, tap_end) of a row of the
// filter are inside the map; kIsSliding: the filter has three columns, all inside, stride and
// dilation 1.
template <int kCount, bool kIsWhole, bool kIsSliding>
HWY_INLINE void compute_pixels(const Row& row, const DepthwiseConv2dParams& params,
                               const Activation& activation, int32_t column, Range taps) {
  const Tag d;
  Vec sums[kCount][kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const Vec bias = hn::LoadU(d, row.bias + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) sums[i][v] = bias;
  }

  // At the first tap inside the map; without one nothing is read.
  const int64_t first =
      int64_t{column} * params.stride_w - params.pad_left + int64_t{taps.begin} * params.dilation_w;
  const float* x_row = row.x + (taps.empty() ? 0 : first * row.x_pixel);
  const float* w_row = row.weights;
  for (int32_t tap_row = 0; tap_row < row.tap_rows; ++tap_row) {
    if constexpr (kIsSliding) {
      Vec w[3][kVectors];
#pragma GCC unroll 3
      for (int tap = 0; tap < 3; ++tap)
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v)
          w[tap][v] = hn::LoadU(d, w_row + tap * row.weight_pixel + v * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kCount + 2; ++i) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          const Vec x = load<kIsWhole>(row, x_row + i * row.x_pixel, v);
          if (i >= 2) sums[i - 2][v] = hn::MulAdd(x, w[2][v], sums[i - 2][v]);
          if (i >= 1 && i <= kCount) sums[i - 1][v] = hn::MulAdd(x, w[1][v], sums[i - 1][v]);
          if (i < kCount) sums[i][v] = hn::MulAdd(x, w[0][v], sums[i][v]);
        }
      }
    } else {
      for (int32_t tap = taps.begin; tap < taps.end; ++tap) {
        const float* x = x_row + (tap - taps.begin) * params.dilation_w * row.x_pixel;
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          const Vec w = hn::LoadU(d, w_row + tap * row.weight_pixel + v * kLanes);
#pragma GCC unroll 8
          for (int i = 0; i < kCount; ++i)
            sums[i][v] = hn::MulAdd(load<kIsWhole>(row, x + i * params.stride_w * row.x_pixel, v),
                                    w, sums[i][v]);
        }
      }
    }
    x_row += row.x_tap_row;
    w_row += row.weight_row;
  }

  const Vec low = hn::Set(d, activation.low);
  const Vec high = hn::Set(d, activation.high);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    const int64_t offset = (int64_t{column} + i) * row.y_pixel;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      Vec sum = sums[i][v];
      if (row.residual != nullptr)
        sum = hn::Add(sum, load<kIsWhole>(row, row.residual + offset, v));
      sum = limit(sum, low, high);
      float* y = row.y + offset + v * kLanes;
      if constexpr (kIsWhole)
        hn::StoreU(sum, d, y);
      else
        store_lanes(d, keep_lanes(d, sum, row.valid_lanes - v * kLanes), y,
                    row.stored_lanes - v * kLanes);
    }
  }
}

// Applies the curve of an activation to a finished row, in place.
HWY_NOINLINE void apply_curve(const Row& row, const Activation& activation, int32_t columns) {
  const Tag d;
  for (int32_t column = 0; column < columns; ++column)
    for (int v = 0; v < kVectors; ++v) {
      float* y = row.y + column * row.y_pixel + v * kLanes;
      const int32_t count = row.stored_lanes - v * kLanes;
      const Vec value = activate(d, activation, load_lanes(d, y, count));
      store_lanes(d, keep_lanes(d, value, row.valid_lanes - v * kLanes), y, count);
    }
}

// Columns of the output whose taps are all inside the map: [begin, end), maybe empty.
Range inner_columns(const WindowAxis& axis, int32_t input, int32_t output) {
  const int64_t begin = ceil_div(axis.pad_begin, axis.stride);
  const int64_t last_tap = int64_t{axis.taps - 1} * axis.dilation - axis.pad_begin;
  const int64_t room = input - 1 - last_tap;
  int64_t end = room < 0 ? 0 : room / axis.stride + 1;
  if (end > output) end = output;
  if (begin >= end) return {output, output};
  return {static_cast<int32_t>(begin), static_cast<int32_t>(end)};
}

// Taps of output position `position` that are inside the map.
Range inner_taps(const WindowAxis& axis, int32_t input, int32_t position) {
  const int64_t first = int64_t{position} * axis.stride - axis.pad_begin;
  int64_t begin = first < 0 ? ceil_div(-first, axis.dilation) : 0;
  int64_t end = first >= input ? 0 : ceil_div(input - first, axis.dilation);
  if (end > axis.taps) end = axis.taps;
  if (begin > end) begin = end;
  return {static_cast<int32_t>(begin), static_cast<int32_t>(end)};
}

// kCount outputs of a whole panel with every tap inside the map.
template <int kCount>
HWY_INLINE void compute_inner(const Row& row, const DepthwiseConv2dParams& params,
                              const Activation& activation, int32_t column,
                              const WindowAxis& axis) {
  const Range taps = {0, axis.taps};
  if (axis.taps == 3 && axis.stride == 1 && axis.dilation == 1)
    compute_pixels<kCount, true, true>(row, params, activation, column, taps);
  else
    compute_pixels<kCount, true, false>(row, params, activation, column, taps);
}

// One panel of one output row. A panel that is not whole, the last one of few networks, goes pixel
// by pixel.
template <bool kIsWhole>
HWY_NOINLINE void compute_row(const Row& row, const DepthwiseConv2dParams& params,
                              const Activation& activation, const WindowAxis& axis, int32_t input,
                              int32_t output) {
  const Range inner = inner_columns(axis, input, output);
  const Range all_taps = {0, axis.taps};
  for (int32_t column = 0; column < output;) {
    if (column < inner.begin || column >= inner.end) {
      compute_pixels<1, kIsWhole, false>(row, params, activation, column,
                                         inner_taps(axis, input, column));
      ++column;
    } else if (kIsWhole && column + kPixels <= inner.end) {
      compute_inner<kPixels>(row, params, activation, column, axis);
      column += kPixels;
    } else if (kIsWhole && kPixels > 4 && column + 4 <= inner.end) {
      compute_inner<4>(row, params, activation, column, axis);
      column += 4;
    } else {
      compute_pixels<1, kIsWhole, false>(row, params, activation, column, all_taps);
      ++column;
    }
  }
  if (activation.has_curve) apply_curve(row, activation, output);
}

void depthwise_conv2d_f32(const KernelArgs& args) {
  const auto& params = args.params_as<DepthwiseConv2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const TensorView& y = args.output();
  const TensorView* residual = params.has_residual != 0 ? &args.operands[3] : nullptr;
  const DepthwiseConv2dWork work =
      depthwise_conv2d_work(w.shape, y.shape, args.part_dim, args.part);
  const Activation activation =
      make_activation(params.activation, params.activation_alpha, params.activation_beta);
  const WindowAxis vertical = vertical_axis(params, w.shape.dims);
  const WindowAxis horizontal = horizontal_axis(params, w.shape.dims);
  const int64_t weight_pixel = panel_channels(y.shape.dims[1]);

  for (int64_t task = args.task_begin; task < args.task_end; ++task) {
    const int64_t row_block = task % work.row_blocks;
    const int64_t panel_block = task / work.row_blocks;
    const Units rows =
        units_of_tasks(work.image_rows, static_cast<int32_t>(work.row_blocks),
                       static_cast<int32_t>(row_block), static_cast<int32_t>(row_block) + 1);
    const Units panels =
        units_of_tasks(work.panels.count(), static_cast<int32_t>(work.panel_blocks),
                       static_cast<int32_t>(panel_block), static_cast<int32_t>(panel_block) + 1);
    // Panels outermost: the rows of a filter then find the inputs of the row before in the first
    // level cache (3 x 112 pixels x 64 bytes = 21 KiB).
    for (int64_t i = panels.begin; i < panels.end; ++i) {
      const int64_t channel = (work.panels.begin + i) * kChannelPanel;
      for (int64_t unit = rows.begin; unit < rows.end; ++unit) {
        const int64_t image = unit / work.rows.count();
        const int32_t out_row = work.rows.begin + static_cast<int32_t>(unit % work.rows.count());
        const Range taps = inner_taps(vertical, x.shape.dims[2], out_row);
        const int64_t in_row = int64_t{out_row} * params.stride_h - params.pad_top +
                               int64_t{taps.begin} * params.dilation_h;
        const int64_t stored = y.strides[3] - channel;
        const int64_t valid = y.shape.dims[1] - channel;
        const Row row = {
            // Without a tap inside the map x is not read.
            .x = x.as<const float>() + image * x.strides[0] +
                 (taps.empty() ? 0 : in_row - x.shape.row_begin) * x.strides[2] + channel,
            .weights = w.as<const float>() + taps.begin * w.shape.dims[3] * weight_pixel + channel,
            .bias = args.operands[2].as<const float>() + channel,
            .residual = residual == nullptr
                            ? nullptr
                            : residual->as<const float>() + image * residual->strides[0] +
                                  (out_row - residual->shape.row_begin) * residual->strides[2] +
                                  channel,
            .y = y.as<float>() + image * y.strides[0] +
                 (out_row - y.shape.row_begin) * y.strides[2] + channel,
            .tap_rows = taps.empty() ? 0 : taps.count(),
            .x_tap_row = params.dilation_h * x.strides[2],
            .x_pixel = x.strides[3],
            .y_pixel = y.strides[3],
            .weight_row = w.shape.dims[3] * weight_pixel,
            .weight_pixel = weight_pixel,
            .stored_lanes = static_cast<int32_t>(stored < kChannelPanel ? stored : kChannelPanel),
            .valid_lanes = static_cast<int32_t>(valid < kChannelPanel ? valid : kChannelPanel),
        };
        if (row.valid_lanes == kChannelPanel)
          compute_row<true>(row, params, activation, horizontal, x.shape.dims[3], y.shape.dims[3]);
        else
          compute_row<false>(row, params, activation, horizontal, x.shape.dims[3], y.shape.dims[3]);
      }
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(depthwise_conv2d_f32_cpu, depthwise_conv2d_f32);
}
#endif
