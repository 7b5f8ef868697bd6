#include "kernels/common/launch/cl_launch.h"
#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_DepthToSpaceBuffer(A, G, N)                                           \
  A(int, item_count) A(int, chunks) A(int, first_channel) A(int, stored_count)          \
  A(int, valid_count) A(int, rows) A(int, first_row) A(int, out_w) A(int, out_channels) \
  A(int, block_h) A(int, block_w) A(int, crop_top) A(int, crop_left)                    \
  G(NhwcInput, x) G(NhwcOutput, y)
// clang-format on
CODL_CL_ARGS(DepthToSpaceBuffer);

}  // namespace

void depth_to_space_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<DepthToSpaceParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const ClChannels channels = cl_channels(step);
  const int64_t chunks = ceil_div(channels.stored_count, kClLanes);
  out_launch->define("IS_CHANNEL_MAJOR", params.is_channel_major != 0 ? 1 : 0);
  out_launch->add(DepthToSpaceBufferArgs{
      .item_count = set_line(step, chunks * y.dims[3] * rows.count() * y.dims[0], out_launch),
      .chunks = static_cast<int32_t>(chunks),
      .first_channel = channels.begin,
      .stored_count = channels.stored_count,
      .valid_count = channels.valid_count,
      .rows = rows.count(),
      .first_row = rows.begin,
      .out_w = y.dims[3],
      .out_channels = y.dims[1],
      .block_h = params.block_h,
      .block_w = params.block_w,
      .crop_top = params.crop_top,
      .crop_left = params.crop_left,
      .x = nhwc_input(x),
      .y = nhwc_output(step)});
}

}  // namespace codl::kernels
