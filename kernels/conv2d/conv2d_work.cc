#include "kernels/common/gemm_tile_choice.h"
#include "kernels/common/step_work.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd_cl.h"

namespace codl::kernels {
namespace {

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

// For a processor with registers for 16 sums and more: 4 tiles x 4 panels take the fewest loads.
// The more panels in a work-item, the fewer times inputs are transformed; beyond 6 there is little
// left to save. (AVX-512, 32 to 512 channels: from 8 tiles of 256 channels to 28 of 64 all are as
// fast within 5 % where weights come from memory.)
constexpr WinogradItem large_winograd_item(int32_t panels) {
  int32_t item_panels = 1;
  for (int32_t count : {2, 3, 5, 6, 4})
    if (panels % count == 0) item_panels = count;
  const int32_t register_panels = item_panels % 4 == 0 ? 4 : item_panels % 2 == 0 ? 2 : 1;
  return {register_panels == 4 ? 4 : 8, register_panels, 16, item_panels, 64};
}

// By the whole output, so that parts have chunks of the same size. Of 19 on an H200 (132 units) the
// large one is the fastest from 112 groups on, the small one with 50 and less.
constexpr WinogradGroup fastest_winograd_group(const OperandShape& y, int32_t units) {
  constexpr WinogradGroup kLarge = kPlainWinogradGroup;
  constexpr WinogradGroup kSmall = {8, 32, 16, 8, 4};
  const int64_t tiles = y.dims[0] * ceil_div(y.dims[2], 2) * ceil_div(y.dims[3], 2);
  const int64_t groups = ceil_div(tiles, kLarge.tiles) * ceil_div(y.dims[1], kLarge.channels);
  return 2 * groups >= units ? kLarge : kSmall;
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

extern const OpWork kConv2dWork;
const OpWork kConv2dWork = {features, choose_tile, tile_kind};

}  // namespace codl::kernels
