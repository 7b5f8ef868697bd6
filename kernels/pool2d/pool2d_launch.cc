#include "kernels/common/cl_launch.h"
#include "kernels/pool2d/pool2d.h"

namespace codl::kernels {
namespace {

// Work-items that share one output of a large window, and what is large: global pooling of a map of
// 8 x 8 has four taps for each of them. Common windows (2x2 to 5x5) and 7x7 keep one each.
constexpr int32_t kTapSplit = 16;
constexpr int64_t kLargeWindowTaps = 64;

void add_filter(const Pool2dParams& params, const OperandShape& x, ClLaunch* out) {
  out->add_int(x.dims[2]);
  out->add_int(x.dims[3]);
  out->add_int(params.kernel_h);
  out->add_int(params.kernel_w);
  add_window(params, out);
  out->add_int(params.pad_bottom);
  out->add_int(params.pad_right);
}

// One group of kTapSplit items per output, in place of the local size chosen before.
void split_taps(uint64_t outputs_x, uint64_t outputs_y, uint64_t outputs_z, ClLaunch* out) {
  out->global[0] = outputs_x * kTapSplit;
  out->global[1] = outputs_y;
  out->global[2] = outputs_z;
  out->local[0] = kTapSplit;
  out->local[1] = out->local[2] = 1;
}

}  // namespace

void pool2d_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<Pool2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const bool is_split = int64_t{params.kernel_h} * params.kernel_w >= kLargeWindowTaps;
  out_launch->define("IS_MAX", params.kind == kPool2dMax ? 1 : 0);
  out_launch->define("COUNT_INCLUDE_PAD", params.count_include_pad != 0 ? 1 : 0);
  out_launch->define("TAP_SPLIT", is_split ? kTapSplit : 1);

  if (y.layout == Layout::Image2d) {
    set_texels(step, out_launch);
    if (is_split)
      split_taps(static_cast<uint64_t>(cl_channels(step).stored_count / kChannelPad),
                 static_cast<uint64_t>(y.dims[3]),
                 static_cast<uint64_t>(int64_t{y.dims[0]} * rows.count()), out_launch);
    add_image_window(step, x, out_launch);
    add_filter(params, x, out_launch);
    return;
  }
  const int64_t outputs = set_chunks(step, out_launch);
  if (is_split) split_taps(static_cast<uint64_t>(outputs), 1, 1, out_launch);
  add_filter(params, x, out_launch);
  add_nhwc_input(x, out_launch);
  add_nhwc_output(step, out_launch);
}

}  // namespace codl::kernels
