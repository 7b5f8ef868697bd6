#include <cmath>

#include "kernels/common/cpu_dispatch.h"
#include "kernels/common/ref_index.h"
#include "kernels/resize/resize.h"

namespace codl::kernels {
namespace {

// What one output position along one axis looks at.
struct Position {
  int64_t floor = 0;
  double ratio = 0.0;  // [0, 1)
  bool is_extrapolated = false;
};

// Linear and cubic: `count` elements from `first` on, which may lie outside the axis.
struct Taps {
  int64_t first = 0;
  int64_t count = 1;
  int64_t last = 0;  // the last element of the axis
  double ratio = 0.0;
  double scale = 1.0;  // of the weight function's argument
  double sum = 1.0;
  bool excludes_outside = false;
  double weights[4] = {};  // the first of them, ready
};

double weight_at_distance(const ResizeParams& params, double distance) {
  const double x = std::fabs(distance);
  if (params.kind == kResizeLinear) return x < 1.0 ? 1.0 - x : 0.0;
  const double a = params.cubic_coefficient;
  if (x <= 1.0) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2.0 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

class Axis {
 public:
  Axis() = default;
  Axis(const ResizeParams& params, float scale, int32_t in, int32_t out)
      : params_(&params), in_(in), out_(out), scale_(scale) {
    if (scale == static_cast<float>(static_cast<double>(out) / in))
      scale_ = static_cast<double>(out) / in;
    is_line_ = resize_line(params.coordinates, scale, in, out, &line_);
    if (params.coordinates != kResizeTfCropAndResize) is_identity_ = scale == 1.0f && in == out;
    // No wider than the map, so that the loop over the weights has an end.
    if (params.is_antialias != 0 && scale_ < 1.0) stretch_ = scale_ > 1.0 / in ? scale_ : 1.0 / in;
  }
  void set_roi(float begin, float end) {
    roi_begin_ = begin;
    roi_end_ = end;
    if (params_->coordinates == kResizeTfCropAndResize)
      is_identity_ = scale_ == 1.0 && in_ == out_ && begin == 0.0f && end == 1.0f;
  }

  bool is_identity() const { return is_identity_; }

  Position position(int64_t o) const {
    Position result;
    if (is_identity_) {
      result.floor = o;
    } else if (is_line_) {
      const ResizePosition exact = resize_position(line_, o);
      result.floor = exact.floor;
      result.ratio = static_cast<double>(exact.rest) / static_cast<double>(line_.divisor);
    } else {
      double p = position_in_double(static_cast<double>(o));
      if (params_->coordinates == kResizeTfCropAndResize)
        result.is_extrapolated = !(p >= 0.0 && p <= in_ - 1.0);
      // Scales and roi may be any numbers; past the edge it is all the same.
      if (!(p > -4.0)) p = -4.0;
      if (p > in_ + 4.0) p = in_ + 4.0;
      result.floor = static_cast<int64_t>(std::floor(p));
      result.ratio = p - std::floor(p);
    }
    return result;
  }

  int64_t nearest(const Position& position) const {
    bool is_next = false;
    if (params_->nearest == kResizeRoundPreferFloor) is_next = position.ratio > 0.5;
    if (params_->nearest == kResizeRoundPreferCeil) is_next = position.ratio >= 0.5;
    if (params_->nearest == kResizeCeil) is_next = position.ratio > 0.0;
    return resize_clamp(position.floor + (is_next ? 1 : 0), in_);
  }

  Taps taps(const Position& position) const {
    Taps taps;
    taps.last = in_ - 1;
    taps.first = position.floor;
    taps.weights[0] = 1.0;
    if (is_identity_) return taps;
    const double reach = params_->kind == kResizeLinear ? 1.0 : 2.0;
    const int64_t before = -static_cast<int64_t>(std::floor(-reach / stretch_)) - 1;
    taps.first = position.floor - before;
    taps.count = 2 + 2 * before;
    taps.ratio = position.ratio + static_cast<double>(before);
    taps.scale = stretch_;
    taps.excludes_outside = params_->excludes_outside != 0;
    double sum = 0.0;
    for (int64_t k = 0; k < taps.count; ++k) {
      const double weight = computed_weight(taps, k);
      if (k < 4) taps.weights[k] = weight;
      sum += weight;
    }
    if (sum != 0.0) taps.sum = sum;
    for (double& weight : taps.weights) weight /= taps.sum;
    return taps;
  }

  double weight(const Taps& taps, int64_t k) const {
    return k < 4 ? taps.weights[k] : computed_weight(taps, k) / taps.sum;
  }

 private:
  double computed_weight(const Taps& taps, int64_t k) const {
    const int64_t element = taps.first + k;
    if (taps.excludes_outside && (element < 0 || element > taps.last)) return 0.0;
    return weight_at_distance(*params_, (static_cast<double>(k) - taps.ratio) * taps.scale);
  }

  // ONNX, Resize: coordinate_transformation_mode.
  double position_in_double(double o) const {
    const double length = scale_ * in_;
    switch (params_->coordinates) {
      case kResizeAsymmetric:
        return o / scale_;
      case kResizePytorchHalfPixel:
        return out_ > 1 ? (o + 0.5) / scale_ - 0.5 : 0.0;
      case kResizeHalfPixelSymmetric:
        return in_ / 2.0 * (1.0 - out_ / length) + (o + 0.5) / scale_ - 0.5;
      case kResizeAlignCorners:
        return length > 1.0 ? o * (in_ - 1.0) / (length - 1.0) : 0.0;
      case kResizeTfCropAndResize:
        if (!(length > 1.0)) return 0.5 * (roi_begin_ + roi_end_) * (in_ - 1.0);
        return roi_begin_ * (in_ - 1.0) +
               o * (roi_end_ - roi_begin_) * (in_ - 1.0) / (length - 1.0);
      default:
        return (o + 0.5) / scale_ - 0.5;
    }
  }

  const ResizeParams* params_ = nullptr;
  int32_t in_ = 1;
  int32_t out_ = 1;
  double scale_ = 1.0;
  double stretch_ = 1.0;
  double roi_begin_ = 0.0;
  double roi_end_ = 1.0;
  ResizeLine line_;
  bool is_line_ = false;
  bool is_identity_ = true;
};

class Resizing {
 public:
  explicit Resizing(const KernelArgs& args)
      : args_(args),
        params_(args.params_as<ResizeParams>()),
        x_(args.operands[0]),
        y_(args.output()),
        element_bytes_(dtype_bytes(y_.shape.dtype)) {
    const float scales[kMaxRank] = {params_.scale_0, params_.scale_1, params_.scale_2,
                                    params_.scale_3, params_.scale_4, params_.scale_5,
                                    params_.scale_6, params_.scale_7};
    const float* given = params_.has_scales != 0 ? args.operands[1].as<const float>() : scales;
    const float* roi = nullptr;
    if (params_.has_roi != 0)
      roi = args.operands[params_.has_scales != 0 ? 2 : 1].as<const float>();
    const int32_t rank = y_.shape.rank;
    for (int32_t i = 0; i < rank; ++i) {
      axes_[i] = Axis(params_, given[i], x_.shape.dims[i], y_.shape.dims[i]);
      if (roi != nullptr) axes_[i].set_roi(roi[i], roi[rank + i]);
    }
  }

  void run() {
    for (int32_t& index : seen_) index = -1;
    for_each_output(args_, [&](const int32_t* index) {
      look_at(index);
      char* y = y_.as<char>() + offset_of(y_, index) * static_cast<int64_t>(element_bytes_);
      if (params_.kind == kResizeNearest)
        std::memcpy(y, nearest(), element_bytes_);
      else
        *reinterpret_cast<float*>(y) = static_cast<float>(interpolated());
    });
    if (y_.shape.dtype == DType::F32) zero_pad_lanes(args_);
  }

 private:
  // Sets what the axes look at, those whose index has changed.
  void look_at(const int32_t* index) {
    for (int32_t i = 0; i < y_.shape.rank; ++i) {
      if (seen_[i] == index[i]) continue;
      seen_[i] = index[i];
      const Position position = axes_[i].position(index[i]);
      is_extrapolated_[i] = position.is_extrapolated;
      if (params_.kind == kResizeNearest)
        offsets_[i] = offset_along(i, axes_[i].nearest(position));
      else
        taps_[i] = axes_[i].taps(position);
    }
  }

  int64_t offset_along(int32_t axis, int64_t element) const {
    return (element - (axis == 2 ? x_.shape.row_begin : 0)) * x_.strides[axis];
  }

  bool is_extrapolated() const {
    for (int32_t i = 0; i < y_.shape.rank; ++i)
      if (is_extrapolated_[i]) return true;
    return false;
  }

  const void* nearest() const {
    if (is_extrapolated()) return &params_.extrapolation_value;
    int64_t offset = 0;
    for (int32_t i = 0; i < y_.shape.rank; ++i) offset += offsets_[i];
    return x_.as<const char>() + offset * static_cast<int64_t>(element_bytes_);
  }

  double interpolated() const {
    return is_extrapolated() ? params_.extrapolation_value : sum_over(0, 0);
  }

  double sum_over(int32_t axis, int64_t offset) const {
    if (axis == y_.shape.rank) return x_.as<const float>()[offset];
    const Taps& taps = taps_[axis];
    double sum = 0.0;
    for (int64_t k = 0; k < taps.count; ++k) {
      const double weight = axes_[axis].weight(taps, k);
      if (weight == 0.0) continue;  // maybe a row that is not held
      const int64_t element = resize_clamp(taps.first + k, static_cast<int32_t>(taps.last + 1));
      sum += weight * sum_over(axis + 1, offset + offset_along(axis, element));
    }
    return sum;
  }

  const KernelArgs& args_;
  const ResizeParams& params_;
  const TensorView& x_;
  const TensorView& y_;
  size_t element_bytes_;
  Axis axes_[kMaxRank];
  int32_t seen_[kMaxRank];
  bool is_extrapolated_[kMaxRank] = {};
  int64_t offsets_[kMaxRank] = {};
  Taps taps_[kMaxRank];
};

}  // namespace

void resize_ref(const KernelArgs& args) { Resizing(args).run(); }

CODL_CPU_KERNEL_PLAIN(resize_any_cpu, resize_ref);

}  // namespace codl::kernels
