// Three passes over the axis: maximum, exponentials and their sum, multiplication by its inverse
// (is_log: subtraction). Along a contiguous axis the vectors lie along it; else, and where that
// axis is short, along the neighbours of its elements.
#include "kernels/common/cpu_dispatch.h"
#include "kernels/softmax/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax/softmax_f32_cpu.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/common/activation-inl.h"
#include "kernels/common/exponential-inl.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = hn::MaxLanes(Floats());

// e^x for x <= 0; a NaN must reach every element of its run.
HWY_INLINE Vector exp_of(Vector x) {
  const Floats d;
  const Vector low = hn::Set(d, kLeastExponent);
  return hn::IfThenZeroElse(hn::Lt(x, low), power_of_e(d, limit(x, low, hn::Zero(d))));
}
// Highway's function makes numbers of NaN.
Vector log_of(Vector x) {
  const Vector log = hn::Log(Floats(), x);
  return hn::IfThenElse(hn::IsNaN(x), x, log);
}

// The last pass over a vector: `power` is e^(x - maximum) and not read where is_log.
HWY_INLINE Vector result_of(bool is_log, Vector x, Vector power, Vector maximum, Vector factor,
                            Vector log_sum) {
  return is_log ? hn::Sub(hn::Sub(x, maximum), log_sum) : hn::Mul(power, factor);
}

// `count` elements that follow each other in memory.
void softmax_contiguous(const float* x, float* y, int64_t count, bool is_log) {
  const Floats d;
  Vector maxima = hn::Set(d, x[0]);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) maxima = hn::Max(maxima, hn::LoadU(d, x + i));
  if (i < count) {
    const auto is_element = hn::FirstN(d, static_cast<size_t>(count - i));
    maxima = hn::Max(maxima, hn::IfThenElse(is_element, load_lanes(d, x + i, count - i), maxima));
  }
  const Vector maximum = hn::MaxOfLanes(d, maxima);
  Vector sums = hn::Zero(d);
  for (i = 0; i < count; i += kLanes) {
    const Vector power = exp_of(hn::Sub(load_lanes(d, x + i, count - i), maximum));
    store_lanes(d, power, y + i, count - i);
    sums = hn::Add(sums, keep_lanes(d, power, count - i));
  }
  const Vector sum = hn::SumOfLanes(d, sums);
  const Vector factor = hn::Div(hn::Set(d, 1.0f), sum);
  const Vector log_sum = is_log ? log_of(sum) : factor;
  for (i = 0; i < count; i += kLanes)
    store_lanes(d,
                result_of(is_log, load_lanes(d, x + i, count - i), load_lanes(d, y + i, count - i),
                          maximum, factor, log_sum),
                y + i, count - i);
}

// `width` neighbouring columns, each along `count` elements that are `step` apart.
HWY_NOINLINE void softmax_columns(const float* x, float* y, int64_t count, int64_t step,
                                  int64_t width, bool is_log) {
  const Floats d;
  for (int64_t i = 0; i < width; i += kLanes, x += kLanes, y += kLanes) {
    const int64_t rest = width - i;
    Vector maximum = load_lanes(d, x, rest);
    for (int64_t k = 1; k < count; ++k)
      maximum = hn::Max(maximum, load_lanes(d, x + k * step, rest));
    Vector sum = hn::Zero(d);
    for (int64_t k = 0; k < count; ++k) {
      const Vector power = exp_of(hn::Sub(load_lanes(d, x + k * step, rest), maximum));
      store_lanes(d, power, y + k * step, rest);
      sum = hn::Add(sum, power);
    }
    const Vector factor = hn::Div(hn::Set(d, 1.0f), sum);
    const Vector log_sum = is_log ? log_of(sum) : factor;
    for (int64_t k = 0; k < count; ++k)
      store_lanes(d,
                  result_of(is_log, load_lanes(d, x + k * step, rest),
                            load_lanes(d, y + k * step, rest), maximum, factor, log_sum),
                  y + k * step, rest);
  }
}

// Axes up to this are shorter than what a vector along them costs.
constexpr int64_t kShortAxis = 16;

// `runs` runs of `count` <= kShortAxis elements that follow each other, `stride` apart: as many at
// once as a vector has lanes.
void softmax_short(const float* x, float* y, int64_t runs, int64_t count, int64_t stride,
                   bool is_log) {
  HWY_ALIGN float from[kShortAxis * kLanes];
  HWY_ALIGN float to[kShortAxis * kLanes];
  for (int64_t first = 0; first < runs;
       first += kLanes, x += kLanes * stride, y += kLanes * stride) {
    const int64_t width = runs - first < kLanes ? runs - first : kLanes;
    for (int64_t run = 0; run < width; ++run)
      for (int64_t k = 0; k < count; ++k) from[k * kLanes + run] = x[run * stride + k];
    softmax_columns(from, to, count, kLanes, width, is_log);
    for (int64_t run = 0; run < width; ++run) {
      for (int64_t k = 0; k < count; ++k) y[run * stride + k] = to[k * kLanes + run];
      for (int64_t k = count; k < stride; ++k) y[run * stride + k] = 0.0f;
    }
  }
}

// The pad lanes among elements [begin, end) of a run of pixels.
void zero_pad_lanes(float* run, int64_t begin, int64_t end, int64_t channels, int64_t pixel) {
  for (int64_t first = begin / pixel * pixel; first < end; first += pixel)
    for (int64_t lane = first + channels; lane < first + pixel; ++lane)
      if (lane >= begin && lane < end) run[lane] = 0.0f;
}

void softmax_f32(const KernelArgs& args) {
  const int32_t axis = args.params_as<SoftmaxParams>().axis;
  const bool is_log = args.params_as<SoftmaxParams>().is_log != 0;
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const SoftmaxWork work = softmax_work(axis, y.shape);
  const bool is_nhwc = y.shape.layout == Layout::Nhwc;
  const int64_t channels = is_nhwc ? y.shape.dims[1] : 0;
  const int64_t pixel = is_nhwc ? y.strides[3] : 0;
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  if (work.inner == 1 && work.axis <= kShortAxis) {
    const int64_t offset = units.begin * work.outer_stride;
    return softmax_short(x.as<const float>() + offset, y.as<float>() + offset,
                         units.end - units.begin, work.axis, work.outer_stride, is_log);
  }
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t offset = unit / work.inner_blocks * work.outer_stride;
    const float* x_run = x.as<const float>() + offset;
    float* y_run = y.as<float>() + offset;
    if (work.inner == 1) {
      softmax_contiguous(x_run, y_run, work.axis, is_log);
      for (int64_t lane = work.axis; lane < work.outer_stride; ++lane) y_run[lane] = 0.0f;
      continue;
    }
    const int64_t begin = unit % work.inner_blocks * kSoftmaxBlock;
    const int64_t end = begin + kSoftmaxBlock < work.inner ? begin + kSoftmaxBlock : work.inner;
    softmax_columns(x_run + begin, y_run + begin, work.axis, work.axis_stride, end - begin, is_log);
    if (channels < pixel)
      for (int64_t k = 0; k < work.axis; ++k)
        zero_pad_lanes(y_run + k * work.axis_stride, begin, end, channels, pixel);
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(softmax_f32_cpu, softmax_f32);
}
#endif
