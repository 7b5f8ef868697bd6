#include "kernels/common/launch/cl_launch.h"
#include "kernels/pool2d/pool2d.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_Pool2dBuffer(A, G, N)                                            \
  G(Chunks, chunks) A(int, in_h) A(int, in_w) G(Filter, filter) A(int, pad_bottom) \
  A(int, pad_right) A(int, channels) A(int, x_channels) G(NhwcInput, x) G(NhwcOutput, y)
#define CODL_ARGS_Pool2dImage(A, G, N)                                                          \
  G(Texels, texels) G(PartImage, y) A(int, first_row) G(HeldImage, x) A(int, in_h) A(int, in_w) \
  G(Filter, filter) A(int, pad_bottom) A(int, pad_right) A(int, x_channels)
// clang-format on
CODL_CL_ARGS(Pool2dBuffer);
CODL_CL_ARGS(Pool2dImage);

// Launches a group of kPool2dTapSplit items per output of so many lanes, in place of the local size
// chosen before.
void split_taps(uint64_t outputs_x, uint64_t outputs_y, uint64_t outputs_z, int32_t lanes,
                ClLaunch* out) {
  out->global[0] = outputs_x * kPool2dTapSplit;
  out->global[1] = outputs_y;
  out->global[2] = outputs_z;
  out->local[0] = kPool2dTapSplit;
  out->local[1] = out->local[2] = 1;
  out->local_bytes = static_cast<uint32_t>(kPool2dTapSplit * lanes) * kClLocalNumberBytes;
}

}  // namespace

void pool2d_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<Pool2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const bool is_split = pool2d_is_split(params);
  out_launch->define("IS_MAX", params.kind == kPool2dMax ? 1 : 0);
  out_launch->define("COUNT_INCLUDE_PAD", params.count_include_pad != 0 ? 1 : 0);
  out_launch->define("IS_DILATED", params.dilation_h != 1 || params.dilation_w != 1 ? 1 : 0);
  out_launch->define("TAP_SPLIT", is_split ? kPool2dTapSplit : 1);
  out_launch->define("ADDS_CHANNELS", pool2d_added_channels(x, y) != 0 ? 1 : 0);
  const FilterArgs filter = filter_args(params, params.kernel_h, params.kernel_w);
  if (y.layout == Layout::Image2d) {
    const TexelsArgs texels = set_texels(step, out_launch);
    if (is_split)
      split_taps(static_cast<uint64_t>(texels.texels), static_cast<uint64_t>(texels.columns),
                 static_cast<uint64_t>(texels.batch_rows), kChannelPad, out_launch);
    out_launch->add(Pool2dImageArgs{.texels = texels,
                                    .y = part_image(step, y),
                                    .first_row = rows_of_part(step.part_dim, step.part, y).begin,
                                    .x = held_image(x),
                                    .in_h = x.dims[2],
                                    .in_w = x.dims[3],
                                    .filter = filter,
                                    .pad_bottom = params.pad_bottom,
                                    .pad_right = params.pad_right,
                                    .x_channels = x.dims[1]});
    return;
  }
  const ChunksArgs chunks = set_chunks(step, out_launch);
  if (is_split)
    split_taps(static_cast<uint64_t>(chunks.item_count), 1, 1, cl_item_lanes(step), out_launch);
  out_launch->add(Pool2dBufferArgs{.chunks = chunks,
                                   .in_h = x.dims[2],
                                   .in_w = x.dims[3],
                                   .filter = filter,
                                   .pad_bottom = params.pad_bottom,
                                   .pad_right = params.pad_right,
                                   .channels = y.dims[1],
                                   .x_channels = x.dims[1],
                                   .x = nhwc_input(x),
                                   .y = nhwc_output(step)});
}

}  // namespace codl::kernels
