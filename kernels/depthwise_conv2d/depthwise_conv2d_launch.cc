#include "kernels/common/launch/cl_launch.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

namespace codl::kernels {
namespace {

void add_filter(const DepthwiseConv2dParams& params, const OperandShape& w, ClLaunch* out) {
  out->add_int(w.dims[2]);
  out->add_int(w.dims[3]);
  add_window(params, out);
}

void launch_buffer(const StepShape& step, ClLaunch* out) {
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const ClChannels channels = cl_channels(step);
  const int64_t chunks = ceil_div(channels.stored_count, kClLanes);
  const int64_t blocks = ceil_div(y.dims[3], kDepthwiseBufferPixels);
  set_line(step, chunks * blocks * rows.count() * y.dims[0], out);
  out->add_int(static_cast<int32_t>(chunks));
  out->add_int(channels.begin);
  out->add_int(static_cast<int32_t>(blocks));
  out->add_int(rows.count());
  out->add_int(y.dims[3]);
  out->add_int(rows.begin);
  out->add_int(x.dims[2]);
  out->add_int(x.dims[3]);
  out->add_int(y.dims[1]);
  add_filter(params, step.operands[1], out);
  add_nhwc_input(x, out);
  add_nhwc_output(step, out);
  out->add_int(cl_strides(y).pixel);
  if (params.has_residual != 0) add_nhwc_rows(step, step.operands[3], out);
}

void launch_image(const StepShape& step, ClLaunch* out) {
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const ClChannels channels = cl_channels(step);
  set_grid(step, channels.stored_count / 4, ceil_div(y.dims[3], kDepthwiseImagePixels),
           int64_t{y.dims[0]} * rows.count(), out);
  out->add_int(channels.begin / 4);
  out->add_int(rows.count());
  out->add_int(rows.begin);
  out->add_int(y.dims[3]);
  out->add_int(y.dims[1]);
  out->add_int(x.dims[2]);
  out->add_int(x.dims[3]);
  add_pixel_texels(x, out);
  add_pixel_texels(y, out);
  add_filter(params, step.operands[1], out);
  out->add_int(x.row_begin);
  out->add_int(rows_held(x));
  out->add_int(y.row_begin);
  out->add_int(rows_held(y));
  if (params.has_residual != 0) {
    const OperandShape& residual = step.operands[3];
    out->add_int(residual.row_begin);
    out->add_int(rows_held(residual));
  }
}

}  // namespace

void depthwise_conv2d_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  const bool is_image = step.output().layout == Layout::Image2d;
  out_launch->define("PIXELS", is_image ? kDepthwiseImagePixels : kDepthwiseBufferPixels);
  out_launch->define("HAS_RESIDUAL", params.has_residual != 0 ? 1 : 0);
  out_launch->define("ACTIVATION", params.activation);
  if (is_image)
    launch_image(step, out_launch);
  else
    launch_buffer(step, out_launch);
  add_activation(params, out_launch);
}

}  // namespace codl::kernels
