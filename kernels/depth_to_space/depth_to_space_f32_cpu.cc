// Nhwc: one output pixel at a time, whose channels are together or evenly apart in one pixel of x;
// or all pixels of a row of a block, where they are together.
#include <cstring>

#include "kernels/common/cpu_dispatch.h"
#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels {
namespace {

void gather_channels(const float* x, int64_t step, int64_t count, float* y) {
  if (step == 1) {
    std::memcpy(y, x, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < count; ++i) y[i] = x[i * step];
}

void depth_to_space_f32(const KernelArgs& args) {
  const auto& params = args.params_as<DepthToSpaceParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const DepthToSpaceWork work = depth_to_space_work(args.part_dim, args.part, y.shape);
  const Range channels = work.channels;
  const bool has_last = channels.end == y.shape.dims[1];
  const int64_t stored = (has_last ? padded_channels(y.shape) : channels.end) - channels.begin;
  const bool has_runs = params.is_channel_major == 0 && channels.count() == y.strides[3];
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t n = unit / work.rows.count();
    const int64_t oh = work.rows.begin + unit % work.rows.count();
    const int64_t row = oh + params.crop_top;
    const int64_t i = row / params.block_h;
    const int32_t a = static_cast<int32_t>(row % params.block_h);
    const float* x_row =
        x.as<const float>() + n * x.strides[0] + (i - x.shape.row_begin) * x.strides[2];
    float* pixel =
        y.as<float>() + n * y.strides[0] + (oh - y.shape.row_begin) * y.strides[2] + channels.begin;
    int64_t pixels = 1;  // moved at once
    for (int64_t ow = 0; ow < y.shape.dims[3]; ow += pixels, pixel += pixels * y.strides[3]) {
      const int64_t column = ow + params.crop_left;
      const int64_t j = column / params.block_w;
      if (has_runs) {
        const int64_t in_block = params.block_w - column % params.block_w;
        pixels = in_block < y.shape.dims[3] - ow ? in_block : y.shape.dims[3] - ow;
      }
      const DepthChannels from =
          depth_channels(params, y.shape.dims[1], a, static_cast<int32_t>(column % params.block_w));
      gather_channels(x_row + j * x.strides[3] + from.first + int64_t{channels.begin} * from.step,
                      from.step, pixels * channels.count(), pixel);
      for (int64_t c = pixels * channels.count(); c < pixels * stored; ++c) pixel[c] = 0.0f;
    }
  }
}

}  // namespace

CODL_CPU_KERNEL_PLAIN(depth_to_space_f32_cpu, depth_to_space_f32);

}  // namespace codl::kernels
