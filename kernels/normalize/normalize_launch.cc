#include "kernels/common/launch/cl_launch.h"
#include "kernels/normalize/normalize.h"

namespace codl::kernels {
namespace {

// clang-format off
// Extent, and strides of x (and y), scale and bias.
#define CODL_ARGS_NormalizeAxis(A, p) \
  A(int, p##extent) A(int, p##x) A(int, p##scale) A(int, p##bias)
#define CODL_ARGS_NormalizeBuffer(A, G, N)                                                  \
  A(int, row_bits) A(int, means)                                                            \
  A(int, lane_blocks) A(int, first_lane) A(int, lanes) A(int, lane_scale) A(int, lane_bias) \
  A(int, pad) A(int, reduced_count) A(float, element_count) A(float, epsilon)               \
  N(3, NormalizeAxis, kept) N(3, NormalizeAxis, reduced) G(Activation, activation)
#define CODL_ARGS_NormalizeImage(A, G, N)                                               \
  A(int, first_texel) A(int, rows) A(int, columns) A(int, channels)                     \
  A(int, x_texels) A(int, x_first_texel) A(int, y_texels) A(int, y_first_texel)         \
  A(float, element_count) A(float, epsilon) A(int, scale_batch_step) A(int, scale_step) \
  A(int, bias_batch_step) A(int, bias_step) G(Activation, activation)
// clang-format on
CODL_CL_GROUP(NormalizeAxis);
CODL_CL_ARGS(NormalizeBuffer);
CODL_CL_ARGS(NormalizeImage);

constexpr int32_t kMaxAxes = 3;  // axes of one kind; the contract allows no more

// The innermost axis comes last.
void set_axes(const NormalizeAxes& axes, NormalizeAxisArgs (&out)[kMaxAxes]) {
  const int32_t missing = kMaxAxes - axes.count;
  for (int32_t i = 0; i < kMaxAxes; ++i) {
    out[i] = {1, 0, 0, 0};
    if (i < missing) continue;
    const auto* strides = axes.strides[i - missing];
    out[i] = {.extent = static_cast<int32_t>(axes.extents[i - missing]),
              .x = static_cast<int32_t>(strides[kNormalizeX]),
              .scale = static_cast<int32_t>(strides[kNormalizeScale]),
              .bias = static_cast<int32_t>(strides[kNormalizeBias])};
  }
}

// Returns the elements of scale or bias from index to index along an axis of x; 0 if there are
// none.
int32_t step_along(const OperandShape* operand, const OperandShape& x, int32_t axis) {
  return operand == nullptr ? 0 : static_cast<int32_t>(broadcast_stride(*operand, x, axis));
}

void launch_normalize_texels(const StepShape& step, ClLaunch* out) {
  const auto& params = step.params_as<NormalizeParams>();
  const OperandShape& x = step.operands[0];
  const ClChannels channels = cl_channels(step);
  const int32_t items = normalize_texel_items(x);
  out->define("ROWS", items);
  out->define("AT_ONCE", kNormalizeTexels);
  out->local[0] = static_cast<uint64_t>(items);
  out->local[1] = out->local[2] = 1;
  out->local_bytes = static_cast<uint32_t>(items * kChannelPad) * kClLocalNumberBytes;
  out->global[0] = out->local[0] * static_cast<uint64_t>(channels.stored_count / kChannelPad);
  out->global[1] = static_cast<uint64_t>(x.dims[0]);
  out->global[2] = 1;
  const HeldImageArgs x_image = held_image(x);
  const HeldImageArgs y_image = held_image(step.output());
  const OperandShape* const scale = normalize_scale(params, step.operands);
  const OperandShape* const bias = normalize_bias(params, step.operands);
  out->add(NormalizeImageArgs{.first_texel = channels.begin / kChannelPad,
                              .rows = x.dims[2],
                              .columns = x.dims[3],
                              .channels = x.dims[1],
                              .x_texels = x_image.texels,
                              .x_first_texel = x_image.first_texel,
                              .y_texels = y_image.texels,
                              .y_first_texel = y_image.first_texel,
                              .element_count = static_cast<float>(int64_t{x.dims[2]} * x.dims[3]),
                              .epsilon = params.epsilon,
                              .scale_batch_step = step_along(scale, x, 0),
                              .scale_step = step_along(scale, x, 1),
                              .bias_batch_step = step_along(bias, x, 0),
                              .bias_step = step_along(bias, x, 1),
                              .activation = activation_args(params)});
}

}  // namespace

void normalize_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<NormalizeParams>();
  out_launch->define("IS_RMS", params.is_rms != 0 ? 1 : 0);
  out_launch->define("HAS_SCALE", params.has_scale != 0 ? 1 : 0);
  out_launch->define("HAS_BIAS", params.has_bias != 0 ? 1 : 0);
  out_launch->define("ACTIVATION", params.activation);
  if (step.kernel->layout == Layout::Image2d) return launch_normalize_texels(step, out_launch);
  const NormalizeWork work = normalize_work(step);
  const NormalizeItems items = normalize_items(work);
  out_launch->define("KEPT", work.kept.count);
  out_launch->define("REDUCED", work.reduced.count);
  out_launch->define("COLUMNS", items.columns);
  out_launch->define("GROUP_ITEMS", items.group_items());
  out_launch->define("WIDTH", items.width);
  out_launch->define("HELD", items.held);
  out_launch->local[0] = static_cast<uint64_t>(items.group_items());
  out_launch->local[1] = out_launch->local[2] = 1;
  out_launch->local_bytes = static_cast<uint32_t>(items.group_items()) * kClLocalNumberBytes;
  out_launch->global[0] = out_launch->local[0] * static_cast<uint64_t>(items.groups(work));
  NormalizeBufferArgs args = {
      .row_bits = items.row_bits,
      .means = static_cast<int32_t>(work.kept.size()),
      .lane_blocks = static_cast<int32_t>(work.lane_blocks),
      .first_lane = static_cast<int32_t>(work.first_lane),
      .lanes = static_cast<int32_t>(work.first_lane + work.lanes),
      .lane_scale = static_cast<int32_t>(work.lane_strides[kNormalizeScale]),
      .lane_bias = static_cast<int32_t>(work.lane_strides[kNormalizeBias]),
      .pad = static_cast<int32_t>(work.pad),
      .reduced_count = static_cast<int32_t>(work.reduced.size()),
      .element_count = static_cast<float>(work.element_count),
      .epsilon = params.epsilon,
      .kept = {},
      .reduced = {},
      .activation = activation_args(params)};
  set_axes(work.kept, args.kept);
  set_axes(work.reduced, args.reduced);
  out_launch->add(args);
}

}  // namespace codl::kernels
