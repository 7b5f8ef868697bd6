// Passes over the axis three times: for the maximum, for the exponentials and their sum, and to
// multiply by its inverse (is_log: to subtract). Along a contiguous axis the vectors lie along it;
// else, and where that axis is short, along the neighbours of its elements.
//
// No run's result depends on which others are worked on beside it. Halves are copied to floats in
// scratch memory, as many runs as are worked on together.
#include <type_traits>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/softmax/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax/softmax_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/activation/exponential-inl.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "kernels/common/cpu/stored_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = hn::MaxLanes(Floats());

// Returns e^x for x <= 0. A NaN stays one, so the sum of its run and all its results are NaN too,
// whatever comes from the x above 0 that remain when the maximum has lost the NaN.
HWY_INLINE Vector exp_of(Vector x) {
  const Floats d;
  return power_of_e(d, at_least(x, hn::Set(d, kMinExponent)));
}
// Highway's function makes numbers of NaN.
Vector log_of(Vector x) {
  const Vector log = hn::Log(Floats(), x);
  return hn::IfThenElse(hn::IsNaN(x), x, log);
}

// Returns the number that the last pass takes from the sum of the powers: its inverse, or (is_log)
// its logarithm.
HWY_INLINE Vector last_of(bool is_log, Vector sum) {
  return is_log ? log_of(sum) : hn::Div(hn::Set(Floats(), 1.0f), sum);
}

// Does the last pass over a vector: of powers, or (is_log) of x.
HWY_INLINE Vector result_of(bool is_log, Vector value, Vector maximum, Vector last) {
  return is_log ? hn::Sub(hn::Sub(value, maximum), last) : hn::Mul(value, last);
}

// So many runs are worked on side by side, so that one's maximum, sum and division over lanes hide
// behind the others' exponentials; they stay in the first-level cache in between.
constexpr int64_t kRunsAtOnce = HWY_TARGET == HWY_AVX3 ? 16 : 8;
constexpr int64_t kRunsElements = 4096;
int64_t runs_at_once(int64_t count) {
  const int64_t fitting = kRunsElements / count;
  return fitting < 1 ? 1 : fitting < kRunsAtOnce ? fitting : kRunsAtOnce;
}

// Runs are longer than a vector. The rest behind the whole vectors is computed by a vector that
// begins early: the lanes it shares with the one before come out the same.

Vector maximum_of(const float* x, int64_t count) {
  const Floats d;
  Vector even = hn::LoadU(d, x + count - kLanes);
  Vector odd = hn::LoadU(d, x);
  int64_t i = kLanes;
  for (; i + 3 * kLanes <= count; i += 2 * kLanes) {
    even = hn::Max(even, hn::LoadU(d, x + i));
    odd = hn::Max(odd, hn::LoadU(d, x + i + kLanes));
  }
  for (; i + kLanes < count; i += kLanes) even = hn::Max(even, hn::LoadU(d, x + i));
  return hn::MaxOfLanes(d, hn::Max(even, odd));
}

// The sums of the powers by lanes; they are left in y (is_log: nowhere).
Vector sums_of_powers(const float* x, float* y, int64_t count, Vector maximum, bool is_log) {
  const Floats d;
  Vector sum = hn::Zero(d);
  int64_t i = 0;
#pragma GCC unroll 2
  for (; i + kLanes <= count; i += kLanes) {
    const Vector power = exp_of(hn::Sub(hn::LoadU(d, x + i), maximum));
    if (!is_log) hn::StoreU(power, d, y + i);
    sum = hn::Add(sum, power);
  }
  if (i < count) {
    const int64_t last = count - kLanes;
    const Vector power = exp_of(hn::Sub(hn::LoadU(d, x + last), maximum));
    if (!is_log) hn::StoreU(power, d, y + last);
    const auto is_done = hn::FirstN(d, static_cast<size_t>(i - last));
    sum = hn::Add(sum, hn::IfThenZeroElse(is_done, power));
  }
  return sum;
}

// Computes `runs` <= kRunsAtOnce runs of `count` elements that follow each other in memory,
// `stride` apart.
void softmax_contiguous(const float* x, float* y, int64_t runs, int64_t count, int64_t stride,
                        bool is_log) {
  const Floats d;
  Vector maxima[kRunsAtOnce];
  Vector sums[kRunsAtOnce];
  for (int64_t run = 0; run < runs; ++run) maxima[run] = maximum_of(x + run * stride, count);
  for (int64_t run = 0; run < runs; ++run)
    sums[run] = sums_of_powers(x + run * stride, y + run * stride, count, maxima[run], is_log);
  // These have a loop of their own, where none waits for another: each is longer than a short run's
  // powers.
  for (int64_t run = 0; run < runs; ++run)
    sums[run] = last_of(is_log, hn::SumOfLanes(d, sums[run]));
  for (int64_t run = 0; run < runs; ++run, x += stride, y += stride) {
    const Vector maximum = maxima[run];
    const Vector last = sums[run];
    const float* from = is_log ? x : y;
    // This is loaded before its powers are overwritten.
    const Vector end = result_of(is_log, hn::LoadU(d, from + count - kLanes), maximum, last);
#pragma GCC unroll 2
    for (int64_t i = 0; i + kLanes <= count; i += kLanes)
      hn::StoreU(result_of(is_log, hn::LoadU(d, from + i), maximum, last), d, y + i);
    hn::StoreU(end, d, y + count - kLanes);
    for (int64_t pad = count; pad < stride; ++pad) y[pad] = 0.0f;
  }
}

// On short axes so many vectors of neighbouring columns are worked on together: whole cache lines.
constexpr int kColumnVectors = HWY_TARGET == HWY_AVX3 ? 2 : 4;
constexpr int64_t kLineFloats = 16;  // floats in a cache line
// Columns that are short enough are worked on in a block of memory: in place their lines might be
// so far apart that they share few places of a cache.
constexpr int64_t kBlockElements = 2048;

// Computes `kVectors` vectors of columns (if one: `width` of its lanes), each along `count`
// elements that are `step` apart. `work` is y, or separate memory with steps of `work_step`.
template <int kVectors>
HWY_INLINE void softmax_vectors(const float* x, float* work, float* y, int64_t count, int64_t step,
                                int64_t work_step, int64_t width, bool is_log) {
  const Floats d;
  const bool is_in_place = work == y;
  const int64_t lanes = kVectors > 1 ? kLanes : width;
  // There are two of each, so that one line need not wait for the one before.
  Vector maxima[2][kVectors];
  Vector sum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    maxima[0][v] = maxima[1][v] = load_lanes(d, x + v * kLanes, lanes);
    sum[v] = hn::Zero(d);
  }
  // Planes have more lines at once than prefetchers follow. Those of y are fetched in two steps,
  // because only so many may be on their way from the third-level cache.
  const auto copy_line = [&](int64_t k, Vector* maximum) HWY_ATTR {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Vector value = load_lanes(d, x + k * step + v * kLanes, lanes);
      maximum[v] = hn::Max(maximum[v], value);
      if (v * kLanes % kLineFloats == 0) __builtin_prefetch(y + k * step + v * kLanes, 0, 2);
      store_lanes(d, value, work + k * work_step + v * kLanes, lanes);
    }
  };
  int64_t copied = 0;
  for (; copied + 2 <= count; copied += 2)
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) copy_line(copied + i, maxima[i]);
  if (copied < count) copy_line(copied, maxima[0]);
  Vector maximum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) maximum[v] = hn::Max(maxima[0][v], maxima[1][v]);
  // is_log: no one reads the powers.
  HWY_ALIGN float unused[kVectors * kLanes];
  float* powers = is_log ? unused : work;
  const int64_t power_step = is_log ? 0 : work_step;
  for (int64_t k = 0; k < count; ++k)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Vector value = load_lanes(d, work + k * work_step + v * kLanes, lanes);
      const Vector power = exp_of(hn::Sub(value, maximum[v]));
      if (v * kLanes % kLineFloats == 0) {
        const float* next = x + k * step + (kVectors + v) * kLanes;
        if (is_in_place) {
          __builtin_prefetch(next, 0, 2);
        } else {
          __builtin_prefetch(next, 0, 3);
          __builtin_prefetch(y + k * step + v * kLanes, 1, 3);
        }
      }
      store_lanes(d, power, powers + k * power_step + v * kLanes, lanes);
      sum[v] = hn::Add(sum[v], power);
    }
    // From here on the last pass takes these.
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sum[v] = last_of(is_log, sum[v]);
  for (int64_t k = 0; k < count; ++k)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Vector value = load_lanes(d, work + k * work_step + v * kLanes, lanes);
      store_lanes(d, result_of(is_log, value, maximum[v], sum[v]), y + k * step + v * kLanes,
                  lanes);
    }
}

// The columns from `column` to `width` in strips of kVectors vectors; one: all of them, with the
// lanes that are left. Returns the first column behind.
template <int kVectors>
HWY_NOINLINE __attribute__((noclone)) int64_t softmax_strips(const float* x, float* y,
                                                             int64_t count, int64_t step,
                                                             int64_t column, int64_t width,
                                                             bool is_log) {
  constexpr int64_t kColumns = kVectors * kLanes;
  HWY_ALIGN float block[kBlockElements];
  const bool fits = count * kColumns <= kBlockElements;
  for (; column + (kVectors > 1 ? kColumns : 1) <= width; column += kColumns)
    softmax_vectors<kVectors>(x + column, fits ? block : y + column, y + column, count, step,
                              fits ? kColumns : step, width - column, is_log);
  return column;
}

// Computes `width` neighbouring columns.
void softmax_columns(const float* x, float* y, int64_t count, int64_t step, int64_t width,
                     bool is_log) {
  int64_t column = 0;
  // (Scalar code is there to be right.)
  if constexpr (kLanes > 1) {
    if (count * kColumnVectors * kLanes <= kBlockElements)
      column = softmax_strips<kColumnVectors>(x, y, count, step, column, width, is_log);
    column = softmax_strips<2>(x, y, count, step, column, width, is_log);
  }
  softmax_strips<1>(x, y, count, step, column, width, is_log);
}

// Axes up to this are shorter than what a vector along them costs.
constexpr int64_t kShortAxis = 16;
static_assert(kShortAxis >= kLanes);

// Computes `runs` runs of `count` <= kShortAxis elements that follow each other, `stride` apart: as
// many at once as a vector has lanes.
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

// Zeroes the pad lanes among elements [begin, end) of a run of pixels.
template <class T>
void zero_pad_lanes(T* run, int64_t begin, int64_t end, int64_t channels, int64_t pixel) {
  for (int64_t first = begin / pixel * pixel; first < end; first += pixel)
    for (int64_t lane = first + channels; lane < first + pixel; ++lane)
      if (lane >= begin && lane < end) run[lane] = T{};
}

// Calls compute(x, y, step) for `rows` rows of `width` elements of x and y, `step` apart: with the
// memory of the operands, or with copies in scratch memory.
template <class Compute>
void in_floats(const float* x, float* y, int64_t, int64_t, int64_t step, float*, Compute compute) {
  compute(x, y, step);
}
template <class Compute>
void in_floats(const Half* x, Half* y, int64_t rows, int64_t width, int64_t step, float* scratch,
               Compute compute) {
  float* const results = scratch + rows * width;
  floats_of_halves(x, step, rows, width, scratch, width);
  compute(scratch, results, width);
  halves_of_floats(results, width, rows, width, y, step);
}

// Returns how many runs that follow each other are computed by one call.
template <class T>
int64_t runs_of_call(const SoftmaxWork& work, int64_t rest) {
  const bool is_short = work.axis <= kShortAxis;
  int64_t runs = is_short ? rest : runs_at_once(work.axis);
  if constexpr (!std::is_same_v<T, float>) {
    const int64_t fitting = softmax_scratch_elements(work) / work.outer_stride;
    if (fitting < runs) runs = fitting;
  }
  return rest < runs ? rest : runs;
}

template <class T>
void softmax(const KernelArgs& args) {
  const int32_t axis = args.params_as<SoftmaxParams>().axis;
  const bool is_log = args.params_as<SoftmaxParams>().is_log != 0;
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const SoftmaxWork work = softmax_work(axis, y.shape);
  const bool is_nhwc = y.shape.layout == Layout::Nhwc;
  const int64_t channels = is_nhwc ? y.shape.dims[1] : 0;
  const int64_t pixel = is_nhwc ? y.strides[3] : 0;
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  auto* const scratch = static_cast<float*>(args.scratch);
  if (work.inner == 1) {
    const auto compute = work.axis <= kShortAxis ? softmax_short : softmax_contiguous;
    int64_t runs = 0;
    for (int64_t unit = units.begin; unit < units.end; unit += runs) {
      const int64_t offset = unit * work.outer_stride;
      runs = runs_of_call<T>(work, units.end - unit);
      in_floats(x.as<const T>() + offset, y.as<T>() + offset, 1, runs * work.outer_stride, 0,
                scratch, [&](const float* from, float* to, int64_t) {
                  compute(from, to, runs, work.axis, work.outer_stride, is_log);
                });
    }
    return;
  }
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t offset = unit / work.inner_blocks * work.outer_stride;
    const T* x_run = x.as<const T>() + offset;
    T* y_run = y.as<T>() + offset;
    const int64_t begin = unit % work.inner_blocks * kSoftmaxBlock;
    const int64_t end = begin + kSoftmaxBlock < work.inner ? begin + kSoftmaxBlock : work.inner;
    in_floats(x_run + begin, y_run + begin, work.axis, end - begin, work.axis_stride, scratch,
              [&](const float* from, float* to, int64_t step) {
                softmax_columns(from, to, work.axis, step, end - begin, is_log);
              });
    if (channels < pixel)
      for (int64_t k = 0; k < work.axis; ++k)
        zero_pad_lanes(y_run + k * work.axis_stride, begin, end, channels, pixel);
  }
}

void softmax_f32(const KernelArgs& args) {
  args.output().shape.dtype == DType::F16 ? softmax<Half>(args) : softmax<float>(args);
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(softmax_f32_cpu, softmax_f32);
}
#endif
