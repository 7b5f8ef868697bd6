#include "kernels/common/launch/cl_launch.h"
#include "kernels/pool2d/pool2d.h"

namespace codl::kernels {
namespace {

void add_filter(const Pool2dParams& params, const OperandShape& x, ClLaunch* out) {
  out->add_int(x.dims[2]);
  out->add_int(x.dims[3]);
  out->add_int(params.kernel_h);
  out->add_int(params.kernel_w);
  add_window(params, out);
  out->add_int(params.pad_bottom);
  out->add_int(params.pad_right);
}

// One group of kPool2dTapSplit items per output of so many lanes, in place of the local size chosen
// before.
void split_taps(uint64_t outputs_x, uint64_t outputs_y, uint64_t outputs_z, int32_t lanes,
                ClLaunch* out) {
  out->global[0] = outputs_x * kPool2dTapSplit;
  out->global[1] = outputs_y;
  out->global[2] = outputs_z;
  out->local[0] = kPool2dTapSplit;
  out->local[1] = out->local[2] = 1;
  out->local_bytes = static_cast<uint32_t>(kPool2dTapSplit * lanes) * sizeof(float);
}

}  // namespace

void pool2d_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<Pool2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const bool is_split = pool2d_is_split(params);
  out_launch->define("IS_MAX", params.kind == kPool2dMax ? 1 : 0);
  out_launch->define("COUNT_INCLUDE_PAD", params.count_include_pad != 0 ? 1 : 0);
  out_launch->define("TAP_SPLIT", is_split ? kPool2dTapSplit : 1);
  out_launch->define("ADDS_CHANNELS", pool2d_added_channels(x, y) != 0 ? 1 : 0);

  if (y.layout == Layout::Image2d) {
    set_texels(step, out_launch);
    if (is_split)
      split_taps(static_cast<uint64_t>(cl_channels(step).stored_count / kChannelPad),
                 static_cast<uint64_t>(y.dims[3]),
                 static_cast<uint64_t>(int64_t{y.dims[0]} * rows.count()), kChannelPad, out_launch);
    add_image_window(step, x, out_launch);
    add_filter(params, x, out_launch);
    out_launch->add_int(x.dims[1]);
    return;
  }
  const int64_t outputs = set_chunks(step, out_launch);
  if (is_split) split_taps(static_cast<uint64_t>(outputs), 1, 1, kClLanes, out_launch);
  add_filter(params, x, out_launch);
  out_launch->add_int(y.dims[1]);
  out_launch->add_int(x.dims[1]);
  add_nhwc_input(x, out_launch);
  add_nhwc_output(step, out_launch);
  out_launch->add_int(cl_strides(y).pixel);
}

}  // namespace codl::kernels
