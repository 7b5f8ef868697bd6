#include "kernels/common/launch/cl_launch.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_DepthwiseConv2dBuffer(A, G, N)                                      \
  A(int, item_count) A(int, chunks) A(int, first_channel) A(int, blocks) A(int, rows) \
  A(int, out_w) A(int, first_row) A(int, in_h) A(int, in_w) A(int, channels)          \
  G(Filter, filter)                                                                   \
  G(NhwcInput, x) G(NhwcOutput, y) G(NhwcRows, residual) G(Activation, activation)
#define CODL_ARGS_DepthwiseConv2dTexels(A, G, N)                                    \
  A(int, texels) A(int, blocks) A(int, batch_rows)                                  \
  A(int, first_texel) A(int, rows) A(int, first_row) A(int, out_w) A(int, channels) \
  A(int, in_h) A(int, in_w) G(Filter, filter) G(HeldImage, x) G(HeldImage, y)       \
  A(int, residual_row_begin) A(int, residual_rows_held) G(Activation, activation)
// clang-format on
CODL_CL_ARGS(DepthwiseConv2dBuffer);
CODL_CL_ARGS(DepthwiseConv2dTexels);

void launch_depthwise_lanes(const StepShape& step, ClLaunch* out) {
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const ClChannels channels = cl_channels(step);
  const int64_t chunks = ceil_div(channels.stored_count, kClLanes);
  const int64_t blocks = ceil_div(y.dims[3], kDepthwisePixels);
  out->define("PIXELS", kDepthwisePixels);
  out->define("LANES", kClLanes);
  out->add(DepthwiseConv2dBufferArgs{
      .item_count = set_line(step, chunks * blocks * rows.count() * y.dims[0], out),
      .chunks = static_cast<int32_t>(chunks),
      .first_channel = channels.begin,
      .blocks = static_cast<int32_t>(blocks),
      .rows = rows.count(),
      .out_w = y.dims[3],
      .first_row = rows.begin,
      .in_h = x.dims[2],
      .in_w = x.dims[3],
      .channels = y.dims[1],
      .filter = filter_args(params, w.dims[2], w.dims[3]),
      .x = nhwc_input(x),
      .y = nhwc_output(step),
      .residual = params.has_residual != 0 ? nhwc_rows(step, step.operands[3]) : NhwcRowsArgs{},
      .activation = activation_args(params)});
}

void launch_depthwise_texels(const StepShape& step, ClLaunch* out) {
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const ClChannels channels = cl_channels(step);
  const int32_t texels = channels.stored_count / 4;
  const int64_t blocks = ceil_div(y.dims[3], kDepthwiseTexelPixels);
  const WindowAxis horizontal = horizontal_axis(params, w.dims);
  const bool shares = depthwise_shares_inputs(vertical_axis(params, w.dims), horizontal);
  out->define("PIXELS", kDepthwiseTexelPixels);
  out->define("LANES", kChannelPad);
  out->define("KERNEL_W", shares ? horizontal.taps : 0);
  out->define("STRIDE_W", shares ? horizontal.stride : 0);
  const int64_t batch_rows = int64_t{y.dims[0]} * rows.count();
  const HeldImageArgs residual =
      params.has_residual != 0 ? held_image(step.operands[3]) : HeldImageArgs{};
  define_batch(y, out);
  set_grid(step, texels, blocks, batch_rows, out);
  out->add(DepthwiseConv2dTexelsArgs{.texels = texels,
                                     .blocks = static_cast<int32_t>(blocks),
                                     .batch_rows = static_cast<int32_t>(batch_rows),
                                     .first_texel = channels.begin / 4,
                                     .rows = rows.count(),
                                     .first_row = rows.begin,
                                     .out_w = y.dims[3],
                                     .channels = y.dims[1],
                                     .in_h = x.dims[2],
                                     .in_w = x.dims[3],
                                     .filter = filter_args(params, w.dims[2], w.dims[3]),
                                     .x = held_image(x),
                                     .y = held_image(y),
                                     .residual_row_begin = residual.row_begin,
                                     .residual_rows_held = residual.rows_held,
                                     .activation = activation_args(params)});
}

}  // namespace

void depthwise_conv2d_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  out_launch->define("HAS_RESIDUAL", params.has_residual != 0 ? 1 : 0);
  out_launch->define("ACTIVATION", params.activation);
  if (cl_item_lanes(step) == kChannelPad)
    launch_depthwise_texels(step, out_launch);
  else
    launch_depthwise_lanes(step, out_launch);
}

}  // namespace codl::kernels
