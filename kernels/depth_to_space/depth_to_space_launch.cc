#include "kernels/common/launch/cl_launch.h"
#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels {

void depth_to_space_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<DepthToSpaceParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const ClChannels channels = cl_channels(step);
  const int64_t chunks = ceil_div(channels.stored_count, kClLanes);
  out_launch->define("IS_CHANNEL_MAJOR", params.is_channel_major != 0 ? 1 : 0);
  set_line(step, chunks * y.dims[3] * rows.count() * y.dims[0], out_launch);
  out_launch->add_int(static_cast<int32_t>(chunks));
  out_launch->add_int(channels.begin);
  out_launch->add_int(channels.stored_count);
  out_launch->add_int(channels.valid_count);
  out_launch->add_int(rows.count());
  out_launch->add_int(rows.begin);
  out_launch->add_int(y.dims[3]);
  out_launch->add_int(y.dims[1]);
  out_launch->add_int(params.block_h);
  out_launch->add_int(params.block_w);
  out_launch->add_int(params.crop_top);
  out_launch->add_int(params.crop_left);
  add_nhwc_input(x, out_launch);
  add_nhwc_output(step, out_launch);
  out_launch->add_int(cl_strides(y).pixel);
}

}  // namespace codl::kernels
