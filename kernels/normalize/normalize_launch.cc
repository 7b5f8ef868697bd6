#include "kernels/common/launch/cl_launch.h"
#include "kernels/normalize/normalize.h"

namespace codl::kernels {
namespace {

// Work-items of a group: they share one mean, or COLUMNS neighbouring ones.
constexpr int32_t kRowItems = 64;
constexpr int32_t kColumnItems = 16;  // per column
constexpr int32_t kMaxAxes = 3;       // of a kind, as the contract says

// Extent and strides of x, scale and bias, the innermost axis last.
void add_axes(const NormalizeAxes& axes, ClLaunch* out) {
  for (int32_t i = axes.count - kMaxAxes; i < axes.count; ++i) {
    out->add_int(i < 0 ? 1 : static_cast<int32_t>(axes.extents[i]));
    for (int32_t k = 0; k < 3; ++k)
      out->add_int(i < 0 ? 0 : static_cast<int32_t>(axes.strides[i][k]));
  }
}

// Elements of scale or bias from batch to batch, and from channel to channel; none: 0.
void add_steps(const OperandShape* operand, const OperandShape& x, ClLaunch* out) {
  for (const int32_t axis : {0, 1})
    out->add_int(operand == nullptr ? 0
                                    : static_cast<int32_t>(broadcast_stride(*operand, x, axis)));
}

void launch_texels(const StepShape& step, ClLaunch* out) {
  const auto& params = step.params_as<NormalizeParams>();
  const OperandShape& x = step.operands[0];
  const ClChannels channels = cl_channels(step);
  const int32_t items = normalize_texel_items(x);
  out->define("ROWS", items);
  out->define("AT_ONCE", kNormalizeTexels);
  out->local[0] = static_cast<uint64_t>(items);
  out->local[1] = out->local[2] = 1;
  out->local_bytes = static_cast<uint32_t>(items * kChannelPad) * sizeof(float);
  out->global[0] = out->local[0] * static_cast<uint64_t>(channels.stored_count / kChannelPad);
  out->global[1] = static_cast<uint64_t>(x.dims[0]);
  out->global[2] = 1;
  out->add_int(channels.begin / kChannelPad);
  out->add_int(x.dims[2]);
  out->add_int(x.dims[3]);
  out->add_int(x.dims[1]);
  add_pixel_texels(x, out);
  add_pixel_texels(step.output(), out);
  out->add_float(static_cast<float>(int64_t{x.dims[2]} * x.dims[3]));
  out->add_float(params.epsilon);
  add_steps(normalize_scale(params, step.operands), x, out);
  add_steps(normalize_bias(params, step.operands), x, out);
  add_activation(params, out);
}

}  // namespace

void normalize_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<NormalizeParams>();
  out_launch->define("IS_RMS", params.is_rms != 0 ? 1 : 0);
  out_launch->define("HAS_SCALE", params.has_scale != 0 ? 1 : 0);
  out_launch->define("HAS_BIAS", params.has_bias != 0 ? 1 : 0);
  out_launch->define("ACTIVATION", params.activation);
  if (step.kernel->layout == Layout::Image2d) return launch_texels(step, out_launch);
  const NormalizeWork work = normalize_work(step);
  const int32_t columns = work.has_kept_lanes ? static_cast<int32_t>(kNormalizeBlock) : 1;
  const int32_t rows = work.has_kept_lanes ? kColumnItems : kRowItems;
  out_launch->define("COLUMNS", columns);
  out_launch->define("ROWS", rows);
  out_launch->local[0] = static_cast<uint64_t>(int64_t{columns} * rows);
  out_launch->local[1] = out_launch->local[2] = 1;
  out_launch->local_bytes = static_cast<uint32_t>(columns * rows) * sizeof(float);
  out_launch->global[0] =
      out_launch->local[0] * static_cast<uint64_t>(work.kept.size() * work.lane_blocks);

  out_launch->add_int(static_cast<int32_t>(work.lane_blocks));
  out_launch->add_int(static_cast<int32_t>(work.first_lane));
  out_launch->add_int(static_cast<int32_t>(work.first_lane + work.lanes));
  out_launch->add_int(static_cast<int32_t>(work.lane_strides[kNormalizeScale]));
  out_launch->add_int(static_cast<int32_t>(work.lane_strides[kNormalizeBias]));
  out_launch->add_int(static_cast<int32_t>(work.pad));
  out_launch->add_int(static_cast<int32_t>(work.reduced.size()));
  out_launch->add_float(static_cast<float>(work.element_count));
  out_launch->add_float(params.epsilon);
  add_axes(work.kept, out_launch);
  add_axes(work.reduced, out_launch);
  add_activation(params, out_launch);
}

}  // namespace codl::kernels
