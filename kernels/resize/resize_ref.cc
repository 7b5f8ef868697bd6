#include <cmath>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/elements.h"
#include "kernels/common/reference/ref_index.h"
#include "kernels/resize/resize.h"

namespace codl::kernels {
namespace {

// Describes the input elements that one output position looks at along one axis.
struct Position {
  int64_t floor = 0;
  double ratio = 0.0;  // [0, 1)
  bool is_extrapolated = false;
};

// Describes Linear and Cubic: `count` elements from `first` on, which may lie outside the axis.
struct AxisTaps {
  int64_t first = 0;
  int64_t count = 1;
  int64_t last = 0;  // the last element of the axis
  double ratio = 0.0;
  double scale = 1.0;  // factor of the weight function's argument
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

class ResizedAxis {
 public:
  ResizedAxis() = default;
  ResizedAxis(const ResizeParams& params, const ResizeAxis& axis)
      : params_(&params), axis_(axis), in_(axis.in) {
    const bool is_whole = axis.roi_begin == 0.0f && axis.roi_end == 1.0f;
    is_identity_ = resize_keeps(axis) && (is_whole || params.coordinates != kResizeTfCropAndResize);
    const double scale =
        axis.scale == 0.0f ? static_cast<double>(axis.out) / axis.in : double{axis.scale};
    // The stretch is no wider than the map, so that the loop over the weights has an end.
    if (params.is_antialias != 0 && scale < 1.0) stretch_ = scale > 1.0 / in_ ? scale : 1.0 / in_;
    rounding_ = resize_rounding(params.nearest, axis.scale);
  }

  Position position(int64_t o) const {
    Position result;
    if (is_identity_) {
      result.floor = o;
      return result;
    }
    double p = resize_point(params_->coordinates, axis_, o);
    if (params_->coordinates == kResizeTfCropAndResize)
      result.is_extrapolated = !(p >= 0.0 && p <= in_ - 1.0);
    // Scales and roi may be any numbers; past the edge it is all the same.
    if (!(p > -4.0)) p = -4.0;
    if (p > in_ + 4.0) p = in_ + 4.0;
    result.floor = static_cast<int64_t>(std::floor(p));
    result.ratio = p - std::floor(p);
    return result;
  }

  int64_t nearest(const Position& position) const {
    bool is_next = false;
    if (rounding_ == kResizeRoundPreferFloor) is_next = position.ratio > 0.5;
    if (rounding_ == kResizeRoundPreferCeil) is_next = position.ratio >= 0.5;
    if (rounding_ == kResizeCeil) is_next = position.ratio > 0.0;
    return resize_clamp(position.floor + (is_next ? 1 : 0), in_);
  }

  AxisTaps taps(const Position& position) const {
    AxisTaps taps;
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

  double weight(const AxisTaps& taps, int64_t k) const {
    return k < 4 ? taps.weights[k] : computed_weight(taps, k) / taps.sum;
  }

 private:
  double computed_weight(const AxisTaps& taps, int64_t k) const {
    const int64_t element = taps.first + k;
    if (taps.excludes_outside && (element < 0 || element > taps.last)) return 0.0;
    return weight_at_distance(*params_, (static_cast<double>(k) - taps.ratio) * taps.scale);
  }

  const ResizeParams* params_ = nullptr;
  ResizeAxis axis_;
  int32_t in_ = 1;
  int32_t rounding_ = kResizeFloor;
  double stretch_ = 1.0;
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
      ResizeAxis axis = {x_.shape.dims[i], y_.shape.dims[i], given[i]};
      axis.has_whole_length = params_.has_scales == 0;
      if (roi != nullptr) {
        axis.roi_begin = roi[i];
        axis.roi_end = roi[rank + i];
      }
      axes_[i] = ResizedAxis(params_, axis);
    }
    const double value = params_.extrapolation_value;
    if (is_float(y_.shape.dtype)) {
      store_floats(y_.shape.dtype, &value, 1, extrapolation_);
    } else {
      const int64_t integer =
          y_.shape.dtype == DType::Bool ? int64_t{value != 0.0} : integer_of(y_.shape.dtype, value);
      store_integers(y_.shape.dtype, &integer, 1, extrapolation_);
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
    if (is_extrapolated()) return extrapolation_;
    int64_t offset = 0;
    for (int32_t i = 0; i < y_.shape.rank; ++i) offset += offsets_[i];
    return x_.as<const char>() + offset * static_cast<int64_t>(element_bytes_);
  }

  double interpolated() const {
    return is_extrapolated() ? params_.extrapolation_value : sum_over(0, 0);
  }

  double sum_over(int32_t axis, int64_t offset) const {
    if (axis == y_.shape.rank) return x_.as<const float>()[offset];
    const AxisTaps& taps = taps_[axis];
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
  alignas(8) char extrapolation_[8] = {};
  ResizedAxis axes_[kMaxRank];
  int32_t seen_[kMaxRank];
  bool is_extrapolated_[kMaxRank] = {};
  int64_t offsets_[kMaxRank] = {};
  AxisTaps taps_[kMaxRank];
};

}  // namespace

void resize_ref(const KernelArgs& args) { Resizing(args).run(); }

CODL_CPU_KERNEL_PLAIN(resize_any_cpu, resize_ref);

}  // namespace codl::kernels
