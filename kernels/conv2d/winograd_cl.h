// Cuts the GPU kernels by Winograd's method (winograd.h) into work-items.
#pragma once

#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/conv2d/winograd.h"

namespace codl::kernels {

// ---- conv2d_winograd4_f32_cl_buffer: work-items by themselves, for processors -------------------

// Sizes tiles and panels of 16 output channels whose sums are in registers, tiles and panels of a
// work-item, and input channels that it transforms at once.
struct WinogradItem {
  int32_t register_tiles;
  int32_t register_panels;
  int32_t tiles;
  int32_t panels;
  int32_t channels;

  static constexpr int32_t kOutputs = 4;
  static constexpr int64_t kPositions = 36;
  // Returns the bytes of transformed inputs and sums in private memory: INPUT_STRIDE and SUM_STRIDE
  // of the text.
  constexpr int64_t private_bytes() const {
    return kPositions * (int64_t{tiles} * (channels + int64_t{panels} * kClLanes) + 2 * kClLanes) *
           kWinogradNumberBytes;
  }
};

inline constexpr uint32_t kWinogradItemInts = 5;
// Fits into a second-level cache of 1 MiB, which processors with AVX-512 have, and on a stack of 8
// MiB.
inline constexpr int64_t kWinogradItemBytes = 640 * 1024;

// Serves if nothing is known of the GPU; it takes 22 KiB, because some reserve it for each item
// that may run.
inline constexpr WinogradItem kSmallWinogradItem = {4, 1, 4, 1, 16};

// Null if conv2d_winograd4_f32_cl_buffer.cl can be built with it, and computes `panels` panels.
constexpr const char* check_winograd_item(const WinogradItem& item, int32_t panels) {
  if (item.register_tiles < 1 || item.register_tiles > 16 || item.register_panels < 1 ||
      item.register_panels > 4)
    return "sums of 1 to 16 tiles and 1 to 4 panels in registers";
  if (item.tiles < 1 || item.tiles > 256 || item.tiles % item.register_tiles != 0 ||
      item.panels < 1 || item.panels > 256 || item.panels % item.register_panels != 0)
    return "a work-item of up to 256 tiles and panels, in multiples of those in registers";
  if (panels % item.panels != 0) return "work-items whose panels divide those of the part";
  if (item.channels < kClLanes || item.channels > 1024 || item.channels % kClLanes != 0)
    return "16 to 1024 input channels at once, a multiple of 16";
  return item.private_bytes() <= kWinogradItemBytes ? nullptr : "640 KiB of private memory at most";
}

constexpr WinogradItem winograd_item_of(const StepShape& step) {
  if (step.tile_count == 0) return kSmallWinogradItem;
  return {step.tile[0], step.tile[1], step.tile[2], step.tile[3], step.tile[4]};
}

// Returns the work of its items.
inline WinogradWork winograd_item_work(const StepShape& step) {
  return winograd_work(WinogradItem::kOutputs, step.operands[0], step.output(), step.part_dim,
                       step.part);
}

// ---- conv2d_winograd2_f32_cl_tiled: work-groups with local memory, for GPUs --------------------

// Sizes tiles and output channels of a work-group, input channels of a chunk, and tiles and
// channels of a work-item at one of the 16 positions.
struct WinogradGroup {
  int32_t tiles;
  int32_t channels;
  int32_t chunk;
  int32_t item_tiles;
  int32_t item_channels;

  static constexpr int32_t kOutputs = 2;
  static constexpr int64_t kPositions = 16;
  constexpr int64_t items() const {
    return kPositions * (tiles / item_tiles) * (channels / item_channels);
  }
  // Returns LOCAL_FLOATS of the text, in bytes.
  constexpr int64_t local_bytes() const {
    const auto odd_stride = [](int64_t floats) { return (floats + 31) / 32 * 32 + 16; };
    const int64_t inputs = odd_stride(int64_t{chunk} * (tiles + 4));
    const int64_t weights = odd_stride(int64_t{channels} / 16 * (int64_t{chunk} * 16 + 16));
    const int64_t sums =
        int64_t{4} * (tiles / item_tiles) * (int64_t{4} * (channels / item_channels) + 4);
    const int64_t staged = inputs + weights;
    return kPositions * (staged > sums ? staged : sums) * int64_t{kClLocalNumberBytes};
  }
};

inline constexpr uint32_t kWinogradGroupInts = 5;

// Null if conv2d_winograd2_f32_cl_tiled.cl can be built with it.
constexpr const char* check_winograd_group(const WinogradGroup& group) {
  const auto is_power = [](int32_t number) { return (number & (number - 1)) == 0; };
  if (group.tiles < 8 || group.tiles > 128 || group.channels < 16 || group.channels > 128 ||
      !is_power(group.tiles) || !is_power(group.channels))
    return "a group of 8 to 128 tiles and 16 to 128 channels, powers of two";
  if (group.chunk < 4 || group.chunk > 32 || !is_power(group.chunk))
    return "4 to 32 input channels of a step, a power of two";
  if ((group.item_tiles != 4 && group.item_tiles != 8) ||
      (group.item_channels != 4 && group.item_channels != 8) ||
      group.channels % (4 * group.item_channels) != 0)
    return "work-items of 4 or 8 tiles and channels that divide the group's";
  const int64_t items = group.items();
  if (items > kClMaxGroupItems) return "at most 1024 work-items in a group";
  // Each item loads inputs of one channel, and weights of one row and lane of some positions.
  const int64_t position_quads = int64_t{group.channels} * group.chunk / 4;
  if (items % position_quads != 0 || items > WinogradGroup::kPositions * position_quads)
    return "loads that the work-items share evenly";
  return group.local_bytes() <= kClMaxLocalBytes ? nullptr : "48 KB of local memory at most";
}

// The group of a step without tile numbers; plans have them.
inline constexpr WinogradGroup kPlainWinogradGroup = {32, 32, 8, 8, 8};

constexpr WinogradGroup winograd_group_of(const StepShape& step) {
  if (step.tile_count == kWinogradGroupInts)
    return {step.tile[0], step.tile[1], step.tile[2], step.tile[3], step.tile[4]};
  return kPlainWinogradGroup;
}

}  // namespace codl::kernels
