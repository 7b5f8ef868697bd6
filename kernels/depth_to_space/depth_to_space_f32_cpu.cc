// Nhwc: the output pixels of a row that have the same place in their blocks, one behind the other:
// the channels of each are together or evenly apart in one pixel of x. Or all pixels of a row of a
// block, where they are together.
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels {
namespace {

// Moves the channels of a pixel: `count` of x, `step` apart, and `pads` zeros, at most 3.
template <class T>
void move_pixel(const T* x, int64_t step, int64_t count, int64_t pads, T zero, T* y) {
  constexpr int64_t kFew = 8;  // to this a call takes longer than the copy
  if (step == 1 && count > kFew) {
    std::memcpy(y, x, static_cast<size_t>(count) * sizeof(T));
  } else {
#pragma GCC unroll 1
    for (int64_t i = 0; i < count; ++i) y[i] = x[i * step];
  }
  y += count;
  // This is no loop, which would become a call.
  if (pads > 0) y[0] = zero;
  if (pads > 1) y[1] = zero;
  if (pads > 2) y[2] = zero;
}

// T has the bits of an element.
template <class T>
void move_elements(const KernelArgs& args) {
  const auto& params = args.params_as<DepthToSpaceParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const DepthToSpaceWork work = depth_to_space_work(args.part_dim, args.part, y.shape);
  const Range channels = work.channels;
  const int64_t count = channels.count();
  const bool has_last = channels.end == y.shape.dims[1];
  const int64_t pads = has_last ? padded_channels(y.shape) - channels.end : 0;
  const T zero = static_cast<T>(y.shape.zero_point);
  const bool has_runs = params.is_channel_major == 0 && count == y.strides[3];
  const int32_t columns = y.shape.dims[3];
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t n = unit / work.rows.count();
    const int64_t oh = work.rows.begin + unit % work.rows.count();
    const int64_t row = oh + params.crop_top;
    const int64_t i = row / params.block_h;
    const int32_t a = static_cast<int32_t>(row % params.block_h);
    const T* x_row = x.as<const T>() + n * x.strides[0] + (i - x.shape.row_begin) * x.strides[2];
    T* y_row =
        y.as<T>() + n * y.strides[0] + (oh - y.shape.row_begin) * y.strides[2] + channels.begin;
    const auto first_of = [&](int32_t b) {
      const DepthChannels from = depth_channels(params, y.shape.dims[1], a, b);
      return from.first + int64_t{channels.begin} * from.step;
    };
    int64_t j = params.crop_left / params.block_w;
    int32_t b = params.crop_left % params.block_w;
    if (has_runs) {
      for (int32_t ow = 0; ow < columns; b = 0, ++j) {
        const int32_t pixels =
            params.block_w - b < columns - ow ? params.block_w - b : columns - ow;
        move_pixel(x_row + j * x.strides[3] + first_of(b), 1, pixels * count, 0, zero,
                   y_row + ow * y.strides[3]);
        ow += pixels;
      }
      continue;
    }
    const int64_t step = depth_channels(params, y.shape.dims[1], a, 0).step;
    const int64_t y_step = int64_t{params.block_w} * y.strides[3];
    for (int32_t first = 0; first < params.block_w && first < columns; ++first) {
      const T* from = x_row + j * x.strides[3] + first_of(b);
      T* to = y_row + first * y.strides[3];
      for (int64_t ow = first; ow < columns; ow += params.block_w) {
        move_pixel(from, step, count, pads, zero, to);
        from += x.strides[3];
        to += y_step;
      }
      if (++b == params.block_w) {
        b = 0;
        ++j;
      }
    }
  }
}

void depth_to_space(const KernelArgs& args) {
  switch (dtype_bytes(args.output().shape.dtype)) {
    case 1:
      return move_elements<uint8_t>(args);
    case 2:
      return move_elements<uint16_t>(args);
    default:
      return move_elements<uint32_t>(args);
  }
}

}  // namespace

CODL_CPU_KERNEL_PLAIN(depth_to_space_f32_cpu, depth_to_space);

}  // namespace codl::kernels
