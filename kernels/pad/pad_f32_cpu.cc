// Nhwc: one output row at a time; its middle is a row of x, its sides are pixels of it or of the
// value.
#include <cstring>

#include "kernels/common/cpu_dispatch.h"
#include "kernels/pad/pad.h"

namespace codl::kernels {
namespace {

// Pixels of `stored` lanes, `channels` of them `value`, the others zero.
void fill_pixels(float* y, int64_t count, int64_t channels, int64_t stored, float value) {
  for (int64_t i = 0; i < count; ++i, y += stored) {
    for (int64_t c = 0; c < channels; ++c) y[c] = value;
    for (int64_t c = channels; c < stored; ++c) y[c] = 0.0f;
  }
}

void pad_f32(const KernelArgs& args) {
  const auto& params = args.params_as<PadParams>();
  const PadAxes pads = pad_axes(params);
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const bool is_constant = params.kind == kPadConstant;
  const float value = params.has_value == 1 ? *args.operands[1].as<const float>() : 0.0f;
  const int64_t stored = y.strides[3];
  const size_t pixel_bytes = static_cast<size_t>(stored) * sizeof(float);
  const int64_t channels = y.shape.dims[1];
  const int64_t columns = y.shape.dims[3];
  const int64_t x_columns = x.shape.dims[3];
  const int64_t begin = pads.begin[3];
  const PadWork work = pad_work(y.shape);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t n = unit / y.shape.dims[2];
    const int64_t row = unit % y.shape.dims[2] - pads.begin[2];
    float* to = y.as<float>() + unit * y.strides[2];
    if (is_constant && (row < 0 || row >= x.shape.dims[2])) {
      fill_pixels(to, columns, channels, stored, value);
      continue;
    }
    const int64_t x_row = pad_place_in_x(params.kind, row, x.shape.dims[2]);
    const float* from = x.as<const float>() + n * x.strides[0] + x_row * x.strides[2];
    std::memcpy(to + begin * stored, from, pixel_bytes * static_cast<size_t>(x_columns));
    if (is_constant) {
      fill_pixels(to, begin, channels, stored, value);
      fill_pixels(to + (begin + x_columns) * stored, pads.end[3], channels, stored, value);
      continue;
    }
    for (int64_t i = 0; i < columns; ++i) {
      if (i == begin) i += x_columns;
      if (i == columns) break;
      const int64_t place = pad_place_in_x(params.kind, i - begin, x_columns);
      std::memcpy(to + i * stored, from + place * stored, pixel_bytes);
    }
  }
}

}  // namespace

CODL_CPU_KERNEL_PLAIN(pad_f32_cpu, pad_f32);

}  // namespace codl::kernels
