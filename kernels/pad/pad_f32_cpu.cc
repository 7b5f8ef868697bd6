// Nhwc: writes one output row at a time; its middle is a row of x, its sides are pixels of it or of
// the value. If channels are padded, or the part is of channels, pixel by pixel.
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/pad/pad.h"

namespace codl::kernels {
namespace {

// Says how a pixel is written: lanes that are `value` or elements of x, then zeros, which are
// elements, too.
struct Lanes {
  int64_t channels;
  int64_t stored;
  int64_t step;  // elements from pixel to pixel, in x and in y
};

template <class T>
void fill_pixels(const Lanes& lanes, T* y, int64_t count, T value, T zero) {
  for (int64_t i = 0; i < count; ++i, y += lanes.step) {
    for (int64_t c = 0; c < lanes.channels; ++c) y[c] = value;
    for (int64_t c = lanes.channels; c < lanes.stored; ++c) y[c] = zero;
  }
}

// Neighbours; whole pixels are one piece of memory.
template <class T>
void copy_pixels(const Lanes& lanes, const T* x, int64_t count, T* y) {
  if (lanes.stored == lanes.step) {
    std::memcpy(y, x, static_cast<size_t>(count * lanes.stored) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i, x += lanes.step, y += lanes.step)
    std::memcpy(y, x, static_cast<size_t>(lanes.stored) * sizeof(T));
}

// Describes pixels of x between channels of the value.
struct PaddedPixels {
  int64_t begin;   // channels in front
  int64_t own;     // channels of x
  int64_t end;     // channels behind
  int64_t pads;    // lanes behind those, at most 3
  int64_t x_step;  // elements from pixel to pixel
  int64_t y_step;
};

template <class T>
void pad_pixels(const PaddedPixels& pixels, const T* x, int64_t count, T value, T zero, T* y) {
  for (int64_t i = 0; i < count; ++i, x += pixels.x_step, y += pixels.y_step) {
    T* to = y;
    for (int64_t c = 0; c < pixels.begin; ++c) *to++ = value;
    std::memcpy(to, x, static_cast<size_t>(pixels.own) * sizeof(T));
    to += pixels.own;
    for (int64_t c = 0; c < pixels.end; ++c) *to++ = value;
    for (int64_t c = 0; c < pixels.pads; ++c) *to++ = zero;
  }
}

// Writes the sides of a row: pixels of x, which is `from`, with `begin` of them in front of it.
template <class T>
void repeat_pixels(int32_t kind, const Lanes& lanes, const T* from, int64_t x_columns,
                   int64_t begin, int64_t columns, T* to) {
  for (int64_t i = 0; i < columns; ++i) {
    if (i == begin) i += x_columns;
    if (i == columns) break;
    const int64_t place = pad_place_in_x(kind, i - begin, x_columns);
    copy_pixels(lanes, from + place * lanes.step, 1, to + i * lanes.step);
  }
}

// T has the bits of an element.
template <class T>
void pad_elements(const KernelArgs& args) {
  const auto& params = args.params_as<PadParams>();
  const PadAxes pads = pad_axes(params);
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const bool is_constant = params.kind == kPadConstant;
  const T zero = static_cast<T>(y.shape.zero_point);
  const T value = params.has_value == 1 ? *args.operands[1].as<const T>() : zero;
  const int64_t columns = y.shape.dims[3];
  const int64_t x_columns = x.shape.dims[3];
  const int64_t begin = pads.begin[3];
  const bool has_channels = pads.begin[1] != 0 || pads.end[1] != 0;
  const PaddedPixels pixels = {pads.begin[1], x.shape.dims[1],
                               pads.end[1],   y.strides[3] - y.shape.dims[1],
                               x.strides[3],  y.strides[3]};
  const RowWork work = row_work(args.part_dim, args.part, y.shape);
  const Lanes lanes = {channels_of_part(args.part_dim, args.part, y.shape).count(),
                       work.channels.count(), y.strides[3]};
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t n = unit / work.rows.count();
    const int64_t y_row = work.rows.begin + unit % work.rows.count();
    const int64_t row = y_row - pads.begin[2];
    T* to = y.as<T>() + n * y.strides[0] + (y_row - y.shape.row_begin) * y.strides[2] +
            work.channels.begin;
    if (is_constant && (row < 0 || row >= x.shape.dims[2])) {
      fill_pixels(lanes, to, columns, value, zero);
      continue;
    }
    const int64_t x_row = pad_place_in_x(params.kind, row, x.shape.dims[2]) - x.shape.row_begin;
    const T* from = x.as<const T>() + n * x.strides[0] + x_row * x.strides[2] + work.channels.begin;
    if (has_channels)
      pad_pixels(pixels, from, x_columns, value, zero, to + begin * lanes.step);
    else
      copy_pixels(lanes, from, x_columns, to + begin * lanes.step);
    if (is_constant) {
      fill_pixels(lanes, to, begin, value, zero);
      fill_pixels(lanes, to + (begin + x_columns) * lanes.step, pads.end[3], value, zero);
    } else {
      repeat_pixels(params.kind, lanes, from, x_columns, begin, columns, to);
    }
  }
}

void pad(const KernelArgs& args) {
  switch (dtype_bytes(args.output().shape.dtype)) {
    case 1:
      return pad_elements<uint8_t>(args);
    case 2:
      return pad_elements<uint16_t>(args);
    default:
      return pad_elements<uint32_t>(args);
  }
}

}  // namespace

CODL_CPU_KERNEL_PLAIN(pad_f32_cpu, pad);

}  // namespace codl::kernels
