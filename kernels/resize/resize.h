// Resize is ONNX's Resize over any axes.
//
//   x       Nearest: any dtype; Linear, Cubic: f32; any rank
//   scales  [rank] f32, if has_scales: in place of scale_i
//   roi     [2 * rank] f32, if has_roi: the beginnings, then the ends; for TfCropAndResize
//   y       the rank and dtype of x
//
// Output position o along an axis looks at x at position p(o). With f = floor(p) and r = p - f:
//   Nearest  element f or f + 1 as the rounding says; FloorOrCeil: Ceil along an axis of scale < 1,
//            else Floor
//   Linear   f and f + 1, weights 1 - r and r
//   Cubic    f - 1 ... f + 2, weights of Keys' cubic with cubic_coefficient
//            (R. Keys, Cubic Convolution Interpolation for Digital Image Processing, IEEE 1981)
//   is_antialias, Linear and Cubic along an axis of scale s < 1
//            the same weight function, stretched by 1 / s; the weights are divided by their sum
// Elements outside x are those at the edge; excludes_outside: they have no weight, and the others
// are divided by their sum. Several axes: the product of their weights. TfCropAndResize: where p is
// outside [0, extent - 1], y is extrapolation_value, as a Cast to the dtype makes it.
//
// The rule for positions, with `in` and `out` elements along the axis and its scale s:
//
//   Asymmetric          o / s
//   HalfPixel           (o + 0.5) / s - 0.5
//   PytorchHalfPixel    the same; 0 if out is 1
//   HalfPixelSymmetric  in / 2 * (1 - out / (s * in)) + (o + 0.5) / s - 0.5
//   TfHalfPixelForNn    (o + 0.5) / s
//   AlignCorners        o * (in - 1) / (length - 1); 0 if length is at most 1
//   TfCropAndResize     begin * (in - 1) + o * (end - begin) * (in - 1) / (length - 1);
//                       (begin + end) / 2 * (in - 1) if length is at most 1
//
// A scale of the model (Resize by `scales`) is an f32, and each operation is rounded to f32 in the
// order written; of HalfPixelSymmetric the first term is, and the sum. So 6 / 1.2 is 5, where it is
// 4.9999998 for the exact quotient by what 1.2 becomes as f32. ONNX leaves it open; ONNX Runtime
// computes it so (onnxruntime/core/providers/cpu/tensor/upsamplebase.h,
// GetOriginalCoordinateFromResizedCoordinate). PyTorch and TensorFlow compute in f32 as well, but
// multiply by 1 / s: of all columns of maps of 1 to 128, resized by 0.1, 0.2 ... 4.9 with Floor,
// they take another one in 0.4 %; the exact quotient does in 2.3 %.
// Within 10^-6 of half an element counts as half, in ONNX Runtime since it resolved its issue
// 28291: 9 / 1.2, which is 7.4999995 so.
//
// A scale of 0 stands for out / in (Resize by `sizes`), which ONNX defines, and p is the exact
// fraction: so a factor of 7 or 1 / 7 hits the elements it should. PyTorch (aten/src/ATen/native/
// UpSample.h) and TensorFlow (tensorflow/core/util/image_resizer_state.h), which multiply by
// in / out, hit them too; ONNX Runtime, which rounds out / in and divides by it, takes element 13
// in place of 14 for 28 to 4. AlignCorners is the exact fraction too.
//
// `length` is what AlignCorners and TfCropAndResize stretch x over: out, as PyTorch, TensorFlow and
// ONNX Runtime have it. ONNX's text and its node tests have in * s there, which need not be whole.
// The tests hand the scales in as an input of the graph, and no exporter does that: so it is in * s
// if has_scales.
//
// resize_point() is this rule, ResizeLine the same in integers, so that all processors find the
// same elements, whatever the divisions of their floats are worth.
//
// resize_any_cpu: Plain. The kernels of f32: Nhwc or Image2d; Nearest or Linear along h and w only,
// no scales, no roi, no antialias (resize_is_map). x must hold the rows of the part that
// resize_input_range() names. Parts: Height, OutputChannel. Pad lanes: those of x are zero, and so
// become those of y. y must not overlap x. Nothing past the end is read.
#pragma once

#include <cmath>

#include "kernels/common/contract/row_work.h"

namespace codl::kernels {

// ---- the rule ----

struct ResizeAxis {
  int32_t in = 1;
  int32_t out = 1;
  float scale = 0;
  bool has_whole_length = true;  // length is out, not in * scale
  float roi_begin = 0;
  float roi_end = 1;
};

// Nothing is looked up along such an axis, whatever the coordinates; TfCropAndResize excepted.
constexpr bool resize_keeps(const ResizeAxis& axis) {
  return axis.in == axis.out && (axis.scale == 0.0f || axis.scale == 1.0f);
}

// The part of HalfPixelSymmetric's position that does not depend on it.
constexpr float resize_symmetric_offset(const ResizeAxis& axis) {
  const float length = axis.scale * static_cast<float>(axis.in);
  const float adjustment = static_cast<float>(axis.out) / length;
  return static_cast<float>(axis.in) / 2.0f * (1.0f - adjustment);
}

// Halves are what is within this many 2^-25ths of them; an f32 cannot be 34 / 2^25 = 1.01e-6 away.
inline constexpr int32_t kResizeHalfParts = 33;

inline double resize_near_half(double p) {
  const double half = std::floor(p) + 0.5;
  return std::fabs(p - half) <= kResizeHalfParts * 0x1p-25 ? half : p;
}

// Returns p(o), or any number if scales or roi are not what ONNX allows.
inline double resize_point(int32_t coordinates, const ResizeAxis& axis, int64_t o) {
  const float at = static_cast<float>(o);
  const double last = axis.in - 1.0;
  double span = axis.out - 1.0;
  if (!axis.has_whole_length && axis.scale != 0.0f) span = double{axis.scale} * axis.in - 1.0;
  if (coordinates == kResizeTfCropAndResize) {
    const auto end = static_cast<float>(last);
    if (!(span > 0.0)) return static_cast<float>(0.5 * (axis.roi_begin + axis.roi_end) * end);
    return resize_near_half(axis.roi_begin * end +
                            at * (axis.roi_end - axis.roi_begin) * end / static_cast<float>(span));
  }
  if (resize_keeps(axis)) return at;
  if (coordinates == kResizeAlignCorners) return span > 0.0 ? at * last / span : 0.0;
  if (coordinates == kResizePytorchHalfPixel && axis.out <= 1) return 0.0;
  if (axis.scale == 0.0f) {
    const double out = axis.out;
    if (coordinates == kResizeAsymmetric) return static_cast<double>(o * axis.in) / out;
    const double center = static_cast<double>((2 * o + 1) * axis.in) / (2.0 * out);
    return coordinates == kResizeTfHalfPixelForNn ? center : center - 0.5;
  }
  if (coordinates == kResizeAsymmetric) return resize_near_half(at / axis.scale);
  if (coordinates == kResizeHalfPixelSymmetric) {
    const double center = (static_cast<double>(at) + 0.5) / axis.scale;
    return resize_near_half(static_cast<float>(resize_symmetric_offset(axis) + center - 0.5));
  }
  const float center = (at + 0.5f) / axis.scale;
  return resize_near_half(coordinates == kResizeTfHalfPixelForNn ? center : center - 0.5f);
}

// ---- the rule in integers ----

// The position is p(o) = (o * step + start) / divisor (step >= 0, divisor > 0), or, if it is
// rounded, that plus `fraction` 2^-25ths, rounded to f32; if `is_half_less`, minus 1 / 2.
struct ResizeLine {
  int64_t step = 1;
  int64_t start = 0;
  int64_t divisor = 1;
  int32_t fraction = 0;  // [0, 2^25)
  bool is_rounded = false;
  bool is_half_less = false;
};

// Writes a scale as the fraction 1 / scale = numerator / denominator. Returns false if it is not
// one of 2^-24 to 2^24, or a number that lines have no room for. The denominator is at most 2^24.
constexpr bool resize_factor(const ResizeAxis& axis, int64_t* numerator, int64_t* denominator) {
  if (axis.scale == 0.0f) {
    *numerator = axis.in;
    *denominator = axis.out;
    return true;
  }
  if (!(axis.scale >= 0x1p-24f && axis.scale <= 0x1p24f)) return false;
  const uint32_t bits = __builtin_bit_cast(uint32_t, axis.scale);
  int64_t mantissa = (bits & 0x7fffff) | 0x800000;
  int32_t exponent = static_cast<int32_t>(bits >> 23) - 127 - 23;
  for (; mantissa % 2 == 0; ++exponent) mantissa /= 2;
  *numerator = exponent < 0 ? int64_t{1} << -exponent : 1;
  *denominator = exponent < 0 ? mantissa : mantissa << exponent;
  // Products of two of these are at most 2^58.
  return *numerator <= int64_t{1} << 34;
}

// Below it an f32 has halves.
inline constexpr double kMaxRoundedPosition = 0x1p23;

// Returns false if the line has no room for the numbers, and for TfCropAndResize.
constexpr bool resize_line(int32_t coordinates, const ResizeAxis& axis, ResizeLine* line) {
  int64_t p = 1;
  int64_t q = 1;
  const int64_t in = axis.in;
  const int64_t out = axis.out;
  if (!axis.has_whole_length || !resize_factor(axis, &p, &q)) return false;
  if (coordinates == kResizeTfCropAndResize) return false;
  *line = {};
  if (resize_keeps(axis)) return true;
  // Rounding changes nothing if all fractions are further from whole and half elements than it is
  // coarse, and than what counts as a half.
  const int64_t coarseness = in < 16 ? 17 : in + 1;  // in units of 2^-24
  bool is_rounded = axis.scale != 0.0f && coarseness * 4 * q >= 1 << 24;
  bool is_half_less = coordinates != kResizeAsymmetric && coordinates != kResizeTfHalfPixelForNn;
  if (coordinates == kResizeAsymmetric)
    *line = {p, 0, q};
  else
    *line = {2 * p, p, 2 * q};
  if (coordinates == kResizeAlignCorners) {
    *line = out > 1 ? ResizeLine{in - 1, 0, out - 1} : ResizeLine{0, 0, 1};
    is_rounded = is_half_less = false;
  } else if (coordinates == kResizePytorchHalfPixel && out <= 1) {
    *line = {0, 0, 1};
    is_rounded = is_half_less = false;
  } else if (coordinates == kResizeHalfPixelSymmetric && axis.scale != 0.0f) {
    // This is less 1 / 2 before it is rounded.
    const float offset = resize_symmetric_offset(axis) * 0x1p25f;
    if (!(offset >= -0x1p49f && offset <= 0x1p49f)) return false;
    const int64_t parts = static_cast<int64_t>(offset) - (int64_t{1} << 24);
    if (static_cast<float>(static_cast<int64_t>(offset)) != offset) return false;
    const int64_t whole = floor_div(parts, int64_t{1} << 25);
    line->start += whole * line->divisor;
    line->fraction = static_cast<int32_t>(parts - whole * (int64_t{1} << 25));
    is_rounded = true;
    is_half_less = false;
  }
  line->is_rounded = is_rounded;
  line->is_half_less = is_half_less && is_rounded;
  if (is_half_less && !is_rounded) line->start -= q;  // in units of 1 / (2 * q)
  const double largest = static_cast<double>(line->step) * static_cast<double>(out) +
                         (line->start < 0 ? -1.0 : 1.0) * static_cast<double>(line->start);
  if (is_rounded && largest >= kMaxRoundedPosition * static_cast<double>(line->divisor))
    return false;
  return largest < 0x1p60;
}

// Holds p(o) as floor and what is left of the divisor.
struct ResizePosition {
  int64_t floor = 0;
  int64_t rest = 0;  // [0, divisor)
  int64_t divisor = 1;
};

// resize_map.cl has the same.
constexpr ResizePosition resize_position(const ResizeLine& line, int64_t o) {
  const int64_t numerator = o * line.step + line.start;
  int64_t floor = floor_div(numerator, line.divisor);
  int64_t rest = numerator - floor * line.divisor;
  if (!line.is_rounded) return {floor, rest, line.divisor};
  // The divisor becomes divisor * 2^25, which is less than 2^51: resize_factor().
  int64_t divisor = line.divisor << 25;
  rest = (rest << 25) + line.fraction * line.divisor;
  if (rest >= divisor) {
    rest -= divisor;
    ++floor;
  }
  // An f32 of this size has so many binary digits after the point. Smaller numbers have more, but
  // are near nothing that they could be rounded to; only 0 is 0.
  int32_t digits = 2 * rest >= divisor ? 24 : 25;
  if (floor != 0)
    digits = 24 - (64 - __builtin_clzll(static_cast<uint64_t>(floor < 0 ? -floor : floor)));
  const int64_t unit = line.divisor << (25 - digits);
  divisor = int64_t{1} << digits;
  int64_t rounded = rest / unit;
  const int64_t left = rest - rounded * unit;
  if (2 * left > unit || (2 * left == unit && rounded % 2 != 0)) ++rounded;
  if (floor == 0 && rounded == 0 && left != 0) rounded = 1;
  rounded += floor << digits;
  if (line.is_half_less) rounded -= divisor / 2;
  floor = floor_div(rounded, divisor);
  rest = rounded - floor * divisor;
  const int64_t away = 2 * rest < divisor ? divisor - 2 * rest : 2 * rest - divisor;
  if (away << 24 <= kResizeHalfParts * divisor) rest = divisor / 2;
  return {floor, rest, divisor};
}

constexpr int32_t resize_clamp(int64_t index, int32_t extent) {
  if (index < 0) return 0;
  return index < extent ? static_cast<int32_t>(index) : extent - 1;
}

// FloorOrCeil decided.
constexpr int32_t resize_rounding(int32_t nearest, float scale) {
  if (nearest != kResizeFloorOrCeil) return nearest;
  return scale < 1.0f ? kResizeCeil : kResizeFloor;
}

// Returns the element that Nearest takes, inside [0, in).
constexpr int32_t resize_nearest(const ResizeLine& line, int32_t nearest, int64_t o, int32_t in) {
  const ResizePosition position = resize_position(line, o);
  bool is_next = false;
  if (nearest == kResizeRoundPreferFloor) is_next = 2 * position.rest > position.divisor;
  if (nearest == kResizeRoundPreferCeil) is_next = 2 * position.rest >= position.divisor;
  if (nearest == kResizeCeil) is_next = position.rest > 0;
  return resize_clamp(position.floor + (is_next ? 1 : 0), in);
}

// Holds the two elements that Linear weighs, inside [0, in); they are equal if the second has no
// weight.
struct ResizePair {
  int32_t first;
  int32_t second;
  float weight;  // weight of the second
};

constexpr ResizePair resize_pair(const ResizeLine& line, int64_t o, int32_t in) {
  const ResizePosition position = resize_position(line, o);
  const int32_t first = resize_clamp(position.floor, in);
  const int32_t second = position.rest > 0 ? resize_clamp(position.floor + 1, in) : first;
  return {first, second,
          static_cast<float>(static_cast<double>(position.rest) /
                             static_cast<double>(position.divisor))};
}

// Describes the work of the f32 kernels: a map [n, c, h, w] resized along h and w.
struct ResizeMap {
  ResizeLine h;
  ResizeLine w;
  int32_t rounding_h = kResizeFloor;  // for Nearest
  int32_t rounding_w = kResizeFloor;
};

// Returns false if only resize_any_cpu can compute it. `x` and `y` are dims of rank 4.
constexpr bool resize_is_map(const ResizeParams& params, const int32_t* x, const int32_t* y,
                             ResizeMap* map) {
  if (params.kind != kResizeNearest && params.kind != kResizeLinear) return false;
  if (params.has_scales != 0 || params.has_roi != 0 || params.is_antialias != 0) return false;
  const auto is_kept = [x, y](int32_t axis, float scale) {
    return x[axis] == y[axis] && (scale == 0.0f || scale == 1.0f);
  };
  if (!is_kept(0, params.scale_0) || !is_kept(1, params.scale_1)) return false;
  map->rounding_h = resize_rounding(params.nearest, params.scale_2);
  map->rounding_w = resize_rounding(params.nearest, params.scale_3);
  return resize_line(params.coordinates, {x[2], y[2], params.scale_2}, &map->h) &&
         resize_line(params.coordinates, {x[3], y[3], params.scale_3}, &map->w);
}

// Returns the input rows that output rows `rows` (not empty) look at, for a map.
constexpr Range resize_input_range(const ResizeParams& params, const ResizeMap& map, Range rows,
                                   int32_t in) {
  if (params.kind == kResizeNearest)
    return {resize_nearest(map.h, map.rounding_h, rows.begin, in),
            resize_nearest(map.h, map.rounding_h, int64_t{rows.end} - 1, in) + 1};
  return {resize_pair(map.h, rows.begin, in).first,
          resize_pair(map.h, int64_t{rows.end} - 1, in).second + 1};
}

void resize_ref(const KernelArgs& args);
void resize_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
