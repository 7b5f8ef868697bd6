// Resize: ONNX's Resize over any axes.
//
//   x       Nearest: any dtype; Linear, Cubic, TfCropAndResize: f32; any rank
//   scales  [rank] f32, if has_scales: in place of scale_i
//   roi     [2 * rank] f32, if has_roi: the beginnings, then the ends; for TfCropAndResize
//   y       the rank and dtype of x
//
// Output position o along an axis looks at x at position p(o), which the coordinates give (ONNX,
// Resize: coordinate_transformation_mode). With f = floor(p) and r = p - f:
//   Nearest  element f or f + 1 as the rounding says
//   Linear   f and f + 1, weights 1 - r and r
//   Cubic    f - 1 ... f + 2, weights of Keys' cubic with cubic_coefficient
//            (R. Keys, Cubic Convolution Interpolation for Digital Image Processing, IEEE 1981)
//   is_antialias, Linear and Cubic along an axis of scale s < 1
//            the same weight function, stretched by 1 / s; the weights are divided by their sum
// Elements outside x are those at the edge; excludes_outside: they have no weight, and the others
// are divided by their sum. Several axes: the product of their weights. TfCropAndResize: where p is
// outside [0, extent - 1], y is extrapolation_value.
//
// scale_i is taken as the exact quotient of the extents if it is that quotient rounded to f32: so a
// factor 3 or 1 / 3 hits the elements it should. Then p is a fraction of integers (ResizeLine), and
// the compiler, the processors and the reference round it alike.
//
// resize_any_cpu: Plain. The rows of f32: Nhwc or Image2d; Nearest or Linear along h and w only, no
// scales, no roi, no antialias (resize_is_map). x must hold the rows of the part that
// resize_input_range() names. Parts: Height, OutputChannel. Pad lanes: those of x are zero, and so
// become those of y. y must not overlap x. Nothing past the end is read.
//
// Features: mmacs (million output elements x elements they look at), mbytes (million bytes read and
// written), steps (1).
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

// p(o) = (o * step + start) / divisor along one axis; step >= 0, divisor > 0.
struct ResizeLine {
  int64_t step = 1;
  int64_t start = 0;
  int64_t divisor = 1;
};

constexpr int64_t floor_div(int64_t value, int64_t divisor) {
  return value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor);
}

// The fraction 1 / scale = numerator / denominator.
struct ResizeFactor {
  int64_t numerator = 1;
  int64_t denominator = 1;
  bool is_quotient = true;  // of the extents
};

// False if the scale is not one of 2^-24 to 2^24.
constexpr bool resize_factor(float scale, int32_t in, int32_t out, ResizeFactor* factor) {
  if (!(scale >= 0x1p-24f && scale <= 0x1p24f)) return false;
  if (scale == static_cast<float>(static_cast<double>(out) / in)) {
    *factor = {in, out, true};
    return true;
  }
  const uint32_t bits = __builtin_bit_cast(uint32_t, scale);
  int64_t mantissa = (bits & 0x7fffff) | 0x800000;
  int32_t exponent = static_cast<int32_t>(bits >> 23) - 127 - 23;
  for (; mantissa % 2 == 0; ++exponent) mantissa /= 2;
  *factor = {1, mantissa, false};
  if (exponent < 0)
    factor->numerator = int64_t{1} << -exponent;
  else
    factor->denominator <<= exponent;
  return true;
}

// False for coordinates that need more than the extents and the scale, or numbers so large that
// the sums of the line might not fit.
constexpr bool resize_line(int32_t coordinates, float scale, int32_t in, int32_t out,
                           ResizeLine* line) {
  ResizeFactor factor;
  if (!resize_factor(scale, in, out, &factor)) return false;
  // Below, products of two of these are at most 2^60.
  if (factor.numerator > int64_t{1} << 34 || factor.denominator > int64_t{1} << 34) return false;
  const int64_t p = factor.numerator;
  const int64_t q = factor.denominator;
  switch (coordinates) {
    case kResizeAsymmetric:
      *line = {p, 0, q};
      break;
    case kResizeHalfPixel:
      *line = {2 * p, p - q, 2 * q};
      break;
    case kResizePytorchHalfPixel:
      *line = out > 1 ? ResizeLine{2 * p, p - q, 2 * q} : ResizeLine{0, 0, 1};
      break;
    case kResizeHalfPixelSymmetric:
      // The centers of the maps meet: half_pixel's line, moved by in / 2 - out / (2 scale).
      *line = {2 * p, (1 - int64_t{out}) * p + (int64_t{in} - 1) * q, 2 * q};
      break;
    case kResizeAlignCorners:
      // (in - 1) / (length - 1) with the length ONNX means, in * scale, which need not be out.
      if (factor.is_quotient)
        *line = out > 1 ? ResizeLine{int64_t{in} - 1, 0, int64_t{out} - 1} : ResizeLine{0, 0, 1};
      else if (in * q > p)
        *line = {(int64_t{in} - 1) * p, 0, in * q - p};
      else
        *line = {0, 0, 1};
      break;
    default:
      return false;
  }
  const double largest = static_cast<double>(line->step) * out +
                         (line->start < 0 ? -1.0 : 1.0) * static_cast<double>(line->start);
  return largest < 0x1p60 && line->divisor < int64_t{1} << 50;
}

// p(o) as floor and what is left of the divisor.
struct ResizePosition {
  int64_t floor = 0;
  int64_t rest = 0;  // [0, divisor)
};

constexpr ResizePosition resize_position(const ResizeLine& line, int64_t o) {
  const int64_t numerator = o * line.step + line.start;
  const int64_t floor = floor_div(numerator, line.divisor);
  return {floor, numerator - floor * line.divisor};
}

constexpr int32_t resize_clamp(int64_t index, int32_t extent) {
  if (index < 0) return 0;
  return index < extent ? static_cast<int32_t>(index) : extent - 1;
}

// The element that Nearest takes, inside [0, in).
constexpr int32_t resize_nearest(const ResizeLine& line, int32_t nearest, int64_t o, int32_t in) {
  const ResizePosition position = resize_position(line, o);
  bool is_next = false;
  if (nearest == kResizeRoundPreferFloor) is_next = 2 * position.rest > line.divisor;
  if (nearest == kResizeRoundPreferCeil) is_next = 2 * position.rest >= line.divisor;
  if (nearest == kResizeCeil) is_next = position.rest > 0;
  return resize_clamp(position.floor + (is_next ? 1 : 0), in);
}

// The two elements that Linear weighs, inside [0, in); equal if the second has no weight.
struct ResizePair {
  int32_t first;
  int32_t second;
  float weight;  // of the second
};

constexpr ResizePair resize_pair(const ResizeLine& line, int64_t o, int32_t in) {
  const ResizePosition position = resize_position(line, o);
  const int32_t first = resize_clamp(position.floor, in);
  const int32_t second = position.rest > 0 ? resize_clamp(position.floor + 1, in) : first;
  return {
      first, second,
      static_cast<float>(static_cast<double>(position.rest) / static_cast<double>(line.divisor))};
}

// What the rows of f32 compute: a map [n, c, h, w] resized along h and w.
struct ResizeMap {
  ResizeLine h;
  ResizeLine w;
};

// `x` and `y`: dims, rank 4. False if only resize_any_cpu can.
constexpr bool resize_is_map(const ResizeParams& params, const int32_t* x, const int32_t* y,
                             ResizeMap* map) {
  if (params.kind != kResizeNearest && params.kind != kResizeLinear) return false;
  if (params.has_scales != 0 || params.has_roi != 0 || params.is_antialias != 0) return false;
  if (x[0] != y[0] || x[1] != y[1] || params.scale_0 != 1.0f || params.scale_1 != 1.0f)
    return false;
  return resize_line(params.coordinates, params.scale_2, x[2], y[2], &map->h) &&
         resize_line(params.coordinates, params.scale_3, x[3], y[3], &map->w);
}

// Input rows that output rows `rows` (not empty) look at, for a map.
constexpr Range resize_input_range(const ResizeParams& params, const ResizeLine& line, Range rows,
                                   int32_t in) {
  if (params.kind == kResizeNearest)
    return {resize_nearest(line, params.nearest, rows.begin, in),
            resize_nearest(line, params.nearest, int64_t{rows.end} - 1, in) + 1};
  return {resize_pair(line, rows.begin, in).first,
          resize_pair(line, int64_t{rows.end} - 1, in).second + 1};
}

// The pieces of a step of the f32 rows: (batch, output row) pairs.
struct ResizeWork {
  Range rows;
  Range channels;  // up to the padded count where the part has the last channel
  int64_t units;
  int32_t task_count;
};

constexpr ResizeWork resize_work(SplitDim part_dim, Range part, const OperandShape& y) {
  ResizeWork work = {};
  work.rows = rows_of_part(part_dim, part, y);
  work.channels = channels_of_part(part_dim, part, y);
  if (work.channels.end == y.dims[1]) work.channels.end = padded_channels(y);
  work.units = int64_t{y.dims[0]} * work.rows.count();
  work.task_count = task_count_for(work.units, work.units * y.dims[3] * work.channels.count());
  return work;
}

void resize_ref(const KernelArgs& args);
void resize_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
