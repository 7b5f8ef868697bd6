// Nhwc: one output row at a time; its middle is a row of x, its sides are pixels of it or of the
// value. Where channels are padded, pixel by pixel.
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
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

// Pixels of x between the value's channels.
struct PaddedPixels {
  int64_t begin;   // channels in front
  int64_t own;     // of x
  int64_t end;     // channels behind
  int64_t pads;    // lanes behind those, at most 3
  int64_t x_step;  // elements from pixel to pixel
  int64_t y_step;
};

void pad_pixels(const PaddedPixels& pixels, const float* x, int64_t count, float value, float* y) {
  for (int64_t i = 0; i < count; ++i, x += pixels.x_step, y += pixels.y_step) {
    float* to = y;
    for (int64_t c = 0; c < pixels.begin; ++c) *to++ = value;
    std::memcpy(to, x, static_cast<size_t>(pixels.own) * sizeof(float));
    to += pixels.own;
    for (int64_t c = 0; c < pixels.end; ++c) *to++ = value;
    for (int64_t c = 0; c < pixels.pads; ++c) *to++ = 0.0f;
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
  const bool has_channels = pads.begin[1] != 0 || pads.end[1] != 0;
  const PaddedPixels pixels = {pads.begin[1],     x.shape.dims[1], pads.end[1],
                               stored - channels, x.strides[3],    stored};
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
    if (has_channels)
      pad_pixels(pixels, from, x_columns, value, to + begin * stored);
    else
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
