#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/unary/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/unary/unary_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/stored_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// Computes runs of numbers that are T in memory.
template <class T>
struct FloatRuns;
template <>
struct FloatRuns<float> {
  using Element = float;
  static void activate(const Activation& activation, const float* x, float* y, int64_t count) {
    activate_rows(activation, x, count, y, count, 1, count);
  }
};
template <>
struct FloatRuns<Half> {
  using Element = Half;
  static void activate(const Activation& activation, const Half* x, Half* y, int64_t count) {
    HWY_ALIGN float block[kStoredBlock];
    for (int64_t i = 0; i < count; i += kStoredBlock) {
      const int64_t some = count - i < kStoredBlock ? count - i : kStoredBlock;
      floats_of_halves(x + i, some, 1, some, block, some);
      activate_rows(activation, block, some, block, some, 1, some);
      halves_of_floats(block, some, 1, some, y + i, some);
    }
  }
};

#if HWY_TARGET == HWY_NEON
// Computes limits of halves, which take no rounding.
struct HalfRuns {
  using Element = Half;
  CODL_HALF_ARITHMETIC HWY_NOINLINE static void activate(const Activation& activation,
                                                         const Half* x, Half* y, int64_t count) {
    const HalfVec low = spread_half(activation.low);
    const HalfVec high = spread_half(activation.high);
    int64_t i = 0;
    for (; i + kHalfLanes <= count; i += kHalfLanes)
      store_halves(smaller_halves(larger_halves(load_halves(x + i), low), high), y + i);
    if (i < count) FloatRuns<Half>::activate(activation, x + i, y + i, count - i);
  }
};
#endif

template <class Runs>
void unary(const KernelArgs& args) {
  using T = typename Runs::Element;
  const auto& params = args.params_as<UnaryParams>();
  const Activation activation = make_activation(params.kind, params.alpha, params.beta);
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const ElementwiseWork work = elementwise_work(args.part_dim, args.part, y.shape);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  if (y.shape.layout == Layout::Plain) {
    const int64_t elements = element_count(y.shape);
    const int64_t begin = units.begin * kElementwiseBlock;
    const int64_t end =
        units.end * kElementwiseBlock < elements ? units.end * kElementwiseBlock : elements;
    Runs::activate(activation, x.as<const T>() + begin, y.as<T>() + begin, end - begin);
    return;
  }
  const int32_t columns = y.shape.dims[3];
  const int32_t channels = y.shape.dims[1];
  const int64_t pixel = y.strides[3];
  const bool has_every_channel = work.channels.count() == channels;
  const int64_t pad_end = work.channels.end == channels ? pixel : work.channels.end;
  // Rows of an image follow each other in memory.
  int64_t rows = 0;
  for (int64_t unit = units.begin; unit < units.end; unit += rows) {
    const int64_t n = unit / work.rows.count();
    const int64_t row = unit % work.rows.count();
    const int64_t h = work.rows.begin + row;
    rows = work.rows.count() - row < units.end - unit ? work.rows.count() - row : units.end - unit;
    const int64_t pixels = rows * columns;
    const T* from = x.as<const T>() + n * x.strides[0] + (h - x.shape.row_begin) * x.strides[2];
    T* to = y.as<T>() + n * y.strides[0] + (h - y.shape.row_begin) * y.strides[2];
    if (has_every_channel) Runs::activate(activation, from, to, pixels * pixel);
    if (has_every_channel && work.channels.end == pad_end) continue;
    for (int64_t i = 0; i < pixels; ++i) {
      if (!has_every_channel)
        Runs::activate(activation, from + i * pixel + work.channels.begin,
                       to + i * pixel + work.channels.begin, work.channels.count());
      for (int64_t lane = work.channels.end; lane < pad_end; ++lane) to[i * pixel + lane] = T{};
    }
  }
}

bool has_halves(const KernelArgs& args) { return args.output().shape.dtype == DType::F16; }

void unary_in_floats(const KernelArgs& args) {
  has_halves(args) ? unary<FloatRuns<Half>>(args) : unary<FloatRuns<float>>(args);
}

#if HWY_TARGET == HWY_NEON
void unary_in_halves(const KernelArgs& args) {
  const auto& params = args.params_as<UnaryParams>();
  const bool has_curve = make_activation(params.kind, params.alpha, params.beta).has_curve;
  has_halves(args) && !has_curve ? unary<HalfRuns>(args) : unary_in_floats(args);
}
#endif

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL_HALVES(unary_f32_cpu, unary_in_floats, unary_in_halves);
}
#endif
