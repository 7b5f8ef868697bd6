#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd_cl.h"

namespace codl::kernels {

void conv2d_launch(const StepShape& step, ClLaunch* out_launch);

namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_conv_operands<Conv2dParams>(step)) return expected;
  const auto& params = step.params_as<Conv2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();

  if (params.groups < 1 || x.dims[1] % params.groups != 0 || y.dims[1] % params.groups != 0)
    return "groups that divide the input and output channels";
  if (w.dims[0] != y.dims[1] || w.dims[1] != x.dims[1] / params.groups)
    return "weights of the output channels and the input channels of a group";
  const int32_t winograd = winograd_outputs(step.row->packing);
  if (winograd != 0) {
    if (const char* expected = check_winograd(params, w)) return expected;
    const Range rows = winograd_rows(winograd, rows_of_part(step.part_dim, step.part, y), y);
    if (!is_winograd_group(*step.row) &&
        !holds_rows_of(x, input_rows_of(vertical_axis(params, w.dims), x.dims[2], rows)))
      return "input rows of the part's tiles inside the operand";
  }
  const uint64_t weight_bytes = winograd != 0 ? winograd_packed_bytes(step.row->packing, w.dims)
                                              : conv2d_packed_bytes(w.dims, params.groups);
  if (weight_bytes / sizeof(float) > static_cast<uint64_t>(kMaxElements))
    return "packed weights of at most 2^30 elements";
  if (w.bytes != weight_bytes) return "packed weights of their shape's size";
  if (step.part_dim == SplitDim::OutputChannel && params.groups > 1 &&
      y.dims[1] / params.groups % kChannelPanel != 0)
    return "groups of whole panels of 16 channels for a part of channels";

  if ((y.layout == Layout::Image2d || is_conv2d_quad(*step.row)) && params.groups > 1 &&
      (w.dims[1] % kChannelPad != 0 || y.dims[1] / params.groups % kChannelPad != 0))
    return "groups of whole texels of 4 channels for rows on texels";

  if (is_winograd_item(*step.row)) {
    if (step.tile_count != 0 && step.tile_count != kWinogradItemInts)
      return "no tile, or its five numbers";
    return check_winograd_item(winograd_item_of(step),
                               conv2d_panels(params, y, step.part_dim, step.part).count());
  }
  if (is_winograd_group(*step.row)) {
    if (step.tile_count != 0 && step.tile_count != kWinogradGroupInts)
      return "no tile, or its five numbers";
    return check_winograd_group(winograd_group_of(step));
  }
  if (is_conv2d_tiled(*step.row)) {
    if (params.groups != 1) return "one group for tiles in local memory";
    return check_gemm_tile(step);
  }
  if (is_conv2d_buffer(*step.row) && step.tile_count == kConv2dBufferTileInts) {
    if (step.tile[3] != kConv2dBufferPixels && step.tile[3] != 2 * kConv2dBufferPixels)
      return "7 or 14 pixels in a work-item";
    if (!conv2d_takes_panels(params, y, step.part_dim, step.part, step.tile[4]))
      return "1 panel in a work-item, or 2 of one group that has an even number of them";
    return check_cl_local_sizes(step.tile);
  }
  if (step.row->processor == Processor::Gpu) return check_cl_tile(step);
  const auto need = [&](const auto& work) -> const char* {
    if (work.task_count > INT32_MAX) return "at most 2^31 tasks";
    out_needs->task_count = static_cast<int32_t>(work.task_count);
    out_needs->scratch_bytes = work.scratch_bytes;
    return nullptr;
  };
  if (winograd != 0) return need(winograd_work(winograd, x, y, step.part_dim, step.part));
  return need(conv2d_work(params, x, w, y, step.part_dim, step.part));
}

void winograd_features(const StepShape& step, int32_t outputs, Features* out_features) {
  const OperandShape& x = step.operands[0];
  const WinogradWork work = winograd_work(outputs, x, step.output(), step.part_dim, step.part);
  const double positions = (outputs + 2) * (outputs + 2);
  const double in_channels = x.dims[1];
  const double out_channels = work.panels.count() * kChannelPanel;
  const auto tiles = static_cast<double>(work.tiles);
  const double weight_bytes = positions * in_channels * out_channels * sizeof(float);
  // What a GPU row reads of them depends on how it is cut: kernels/gpu_features.h.
  const bool is_one_pass =
      step.row->processor == Processor::Gpu || weight_bytes <= kWinogradInputBytes;
  const double passes = is_one_pass ? 1.0 : static_cast<double>(work.tile_blocks);
  out_features->add("mmacs", positions * tiles * in_channels * out_channels * 1e-6);
  out_features->add("transform_mbytes", positions * tiles *
                                            (round_up(x.dims[1], kChannelPanel) + out_channels) *
                                            sizeof(float) * 1e-6);
  out_features->add("mbytes", conv_activation_mbytes<Conv2dParams>(step));
  out_features->add("weight_mbytes", passes * weight_bytes * 1e-6);
  out_features->add("steps", 1.0);
}

void features(const StepShape& step, Features* out_features) {
  if (const int32_t winograd = winograd_outputs(step.row->packing))
    return winograd_features(step, winograd, out_features);
  const auto& params = step.params_as<Conv2dParams>();
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  const Range channels = channels_of_part(step.part_dim, step.part, y);
  // Groups are padded one by one; a part of several groups has whole ones.
  const int32_t group_channels = y.dims[1] / params.groups;
  const int32_t multiple = step.row->processor == Processor::Cpu ? kChannelPanel : kChannelPad;
  const double padded_channel_count = params.groups == 1
                                          ? round_up(channels.count(), multiple)
                                          : static_cast<double>(channels.count()) / group_channels *
                                                round_up(group_channels, multiple);
  const double pixels = static_cast<double>(y.dims[0]) *
                        rows_of_part(step.part_dim, step.part, y).count() * y.dims[3];
  const double depth = static_cast<double>(w.dims[1]) * w.dims[2] * w.dims[3];
  const double computed = step.row->processor == Processor::Cpu
                              ? conv2d_computed_share(params, step.operands[0], w, y)
                              : 1;

  const bool is_1x1 = w.dims[2] == 1 && w.dims[3] == 1;
  const bool is_3x3 = w.dims[2] == 3 && w.dims[3] == 3;
  const char* macs_name = "mmacs_other";
  if (is_1x1) macs_name = "mmacs_1x1";
  if (is_3x3 && params.stride_h == 1 && params.stride_w == 1) macs_name = "mmacs_3x3_s1";
  if (is_3x3 && params.stride_h == 2 && params.stride_w == 2) macs_name = "mmacs_3x3_s2";
  out_features->add(macs_name, computed * pixels * depth * padded_channel_count * 1e-6);
  out_features->add("mbytes", conv_activation_mbytes<Conv2dParams>(step));
  out_features->add("weight_mbytes", (depth + 1.0) * padded_channel_count * sizeof(float) * 1e-6);
  out_features->add("mtaps", pixels * w.dims[2] * w.dims[3] * 1e-6);
  out_features->add("steps", 1.0);
}

template <size_t kCount>
uint32_t write_tile(const int32_t (&numbers)[kCount], int32_t* out_tile) {
  for (size_t i = 0; i < kCount; ++i) out_tile[i] = numbers[i];
  return kCount;
}

uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) {
  const auto& params = step.params_as<Conv2dParams>();
  const OperandShape& y = step.output();
  if (is_conv2d_tiled(*step.row))
    return write_gemm_tile(
        fastest_gemm_tile(*step.row, conv2d_gemm_size(step.operands[0], step.operands[1], y), gpu),
        out_tile);
  if (is_winograd_group(*step.row)) {
    const WinogradGroup group = fastest_winograd_group(y, gpu.units);
    return write_tile(
        {group.tiles, group.channels, group.chunk, group.item_tiles, group.item_channels},
        out_tile);
  }
  // Of the buffer rows: sums, a row of weights for each panel, and one pixel of x. So many are a
  // processor's.
  constexpr int32_t kRegisters = (kConv2dBufferPixels + 1) * 2 * kClLanes + kClLanes;
  if (gpu.registers < kRegisters) return 0;
  if (is_winograd_item(*step.row)) {
    const WinogradItem item =
        large_winograd_item(conv2d_panels(params, y, step.part_dim, step.part).count());
    return write_tile(
        {item.register_tiles, item.register_panels, item.tiles, item.panels, item.channels},
        out_tile);
  }
  if (!is_conv2d_buffer(*step.row)) return 0;
  // Groups of 2: PoCL's loop over the work-items of 32 costs 5 to 15 % (AVX-512, 1x1 and 3x3).
  const bool takes_two = conv2d_takes_panels(params, y, step.part_dim, step.part, 2);
  return write_tile({2, 1, 1, kConv2dBufferPixels, takes_two ? 2 : 1}, out_tile);
}

TileKind tile_kind(const KernelRow& row) {
  if (is_conv2d_tiled(row)) return TileKind::Gemm;
  return is_winograd_item(row) || is_winograd_group(row) ? TileKind::Own : TileKind::Local;
}

}  // namespace

extern const Contract kConv2dContract;
const Contract kConv2dContract = {check, conv2d_launch, features, choose_tile, tile_kind};

}  // namespace codl::kernels
