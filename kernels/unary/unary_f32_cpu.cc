#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/unary/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/unary/unary_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

void activate_run(const Activation& activation, const float* x, float* y, int64_t count) {
  activate_rows(activation, x, count, y, count, 1, count);
}

void unary_f32(const KernelArgs& args) {
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
    activate_run(activation, x.as<const float>() + begin, y.as<float>() + begin, end - begin);
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
    const float* from =
        x.as<const float>() + n * x.strides[0] + (h - x.shape.row_begin) * x.strides[2];
    float* to = y.as<float>() + n * y.strides[0] + (h - y.shape.row_begin) * y.strides[2];
    if (has_every_channel) activate_run(activation, from, to, pixels * pixel);
    if (has_every_channel && work.channels.end == pad_end) continue;
    for (int64_t i = 0; i < pixels; ++i) {
      if (!has_every_channel)
        activate_run(activation, from + i * pixel + work.channels.begin,
                     to + i * pixel + work.channels.begin, work.channels.count());
      for (int64_t lane = work.channels.end; lane < pad_end; ++lane) to[i * pixel + lane] = 0.0f;
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(unary_f32_cpu, unary_f32);
}
#endif
