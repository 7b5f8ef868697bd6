#include <cmath>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/grid_sample/grid_sample.h"

namespace codl::kernels {
namespace {

constexpr int32_t kMaxTaps = 4;  // along an axis

// One axis of x.
struct Axis {
  int32_t extent = 1;
  int64_t stride = 1;
  double border_begin = 0.0;  // Reflection turns back here
  double border_end = 0.0;
};

// The elements a place weighs along one axis; offset -1 where there is none.
struct Taps {
  int32_t count = 1;
  int64_t offsets[kMaxTaps] = {};
  float weights[kMaxTaps] = {1.0f};
};

double reflected(double p, double begin, double end) {
  const double range = end - begin;
  if (range <= 0.0) return begin;
  double beyond = std::fmod(std::fabs(p - begin), 2.0 * range);
  if (beyond > range) beyond = 2.0 * range - beyond;
  return begin + beyond;
}

// Weighs the four elements around a place between the middle two by Keys' cubic convolution with a
// = -0.75.
void set_cubic_weights(double ratio, float* weights) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  weights[0] = static_cast<float>(far(1 + ratio));
  weights[1] = static_cast<float>(near(ratio));
  weights[2] = static_cast<float>(near(1 - ratio));
  weights[3] = static_cast<float>(far(2 - ratio));
}

class Sampling {
 public:
  explicit Sampling(const KernelArgs& args)
      : params_(args.params_as<GridSampleParams>()),
        x_(args.operands[0]),
        grid_(args.operands[1]),
        y_(args.output()),
        axis_count_(x_.shape.rank - 2) {
    for (int32_t i = 0; i < axis_count_; ++i) {
      Axis& axis = axes_[i];
      axis.extent = x_.shape.dims[2 + i];
      axis.stride = x_.strides[2 + i];
      const double half = params_.aligns_corners != 0 ? 0.0 : 0.5;
      axis.border_begin = -half;
      axis.border_end = axis.extent - 1 + half;
    }
  }

  void run() {
    const int64_t places = y_.strides[1];
    const int64_t x_map = x_.strides[1];
    const int32_t channels = y_.shape.dims[1];
    const float* grid = grid_.as<const float>();
    for (int64_t n = 0; n < y_.shape.dims[0]; ++n)
      for (int64_t place = 0; place < places; ++place, grid += axis_count_) {
        for (int32_t i = 0; i < axis_count_; ++i)
          set_taps(axes_[i], grid[axis_count_ - 1 - i], &taps_[i]);
        for (int64_t c = n * channels; c < (n + 1) * channels; ++c)
          y_.as<float>()[c * places + place] =
              static_cast<float>(sum_over(0, x_.as<const float>() + c * x_map));
      }
  }

 private:
  void set_taps(const Axis& axis, float place, Taps* taps) const {
    const float extent = static_cast<float>(axis.extent);
    // In float as ONNX does: it decides which element is the nearest.
    double p = params_.aligns_corners != 0 ? (place + 1.0f) / 2.0f * (extent - 1.0f)
                                           : ((place + 1.0f) * extent - 1.0f) / 2.0f;
    if (params_.kind == kGridSampleNearest) p = std::nearbyint(p);
    if (p < axis.border_begin || p > axis.border_end) {
      if (params_.padding == kGridSampleBorder) p = p < 0.0 ? 0.0 : extent - 1.0;
      if (params_.padding == kGridSampleReflection)
        p = reflected(p, axis.border_begin, axis.border_end);
    }
    // Further out it is all the same; a NaN is outside, too.
    if (!(p > -4.0)) p = -4.0;
    if (p > extent + 4.0) p = extent + 4.0;
    const double floor = std::floor(p);
    taps->count = grid_sample_taps(params_.kind);
    int64_t first = static_cast<int64_t>(floor);
    if (params_.kind == kGridSampleLinear) {
      taps->weights[0] = static_cast<float>(1.0 - (p - floor));
      taps->weights[1] = static_cast<float>(p - floor);
    } else if (params_.kind == kGridSampleCubic) {
      set_cubic_weights(p - floor, taps->weights);
      --first;
    }
    for (int32_t k = 0; k < taps->count; ++k) {
      const int64_t element = inside(axis, first + k);
      taps->offsets[k] = element < 0 ? -1 : element * axis.stride;
    }
  }

  // Returns the element that stands for `element`, or -1 for zero.
  int64_t inside(const Axis& axis, int64_t element) const {
    if (element >= 0 && element < axis.extent) return element;
    if (params_.padding == kGridSampleZeros) return -1;
    if (params_.padding == kGridSampleBorder) return element < 0 ? 0 : axis.extent - 1;
    const int64_t back = static_cast<int64_t>(
        reflected(static_cast<double>(element), axis.border_begin, axis.border_end));
    return back < 0 ? 0 : back < axis.extent ? back : axis.extent - 1;
  }

  double sum_over(int32_t axis, const float* x) const {
    // The second bound is the contract's; it is here for the compiler, which warns otherwise.
    if (axis == axis_count_ || axis == kGridSampleAxes) return *x;
    const Taps& taps = taps_[axis];
    double sum = 0.0;
    for (int32_t k = 0; k < taps.count; ++k)
      if (taps.offsets[k] >= 0) sum += taps.weights[k] * sum_over(axis + 1, x + taps.offsets[k]);
    return sum;
  }

  const GridSampleParams& params_;
  const TensorView& x_;
  const TensorView& grid_;
  const TensorView& y_;
  int32_t axis_count_;
  Axis axes_[kGridSampleAxes];
  Taps taps_[kGridSampleAxes];
};

}  // namespace

void grid_sample_ref(const KernelArgs& args) { Sampling(args).run(); }

CODL_CPU_KERNEL_PLAIN(grid_sample_any_cpu, grid_sample_ref);

}  // namespace codl::kernels
