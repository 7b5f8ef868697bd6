// Counts of the work that a step of Conv2d gives a processor. Longer than 500 lines: eight kernels
// go through the work in ways of their own, and each is counted from the same Conv2dPart.
#include <cmath>

#include "kernels/common/work/gemm_tile_choice.h"
#include "kernels/common/work/work_counts.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd_cl.h"
#include "kernels/kernel_table.h"

namespace codl::kernels::conv2d {
namespace {

template <size_t kCount>
uint32_t write_tile(const int32_t (&numbers)[kCount], int32_t* out_tile) {
  for (size_t i = 0; i < kCount; ++i) out_tile[i] = numbers[i];
  return kCount;
}

// For a processor with registers for 16 sums and more: 4 tiles x 4 panels need the fewest loads.
// The more panels a work-item has, the fewer times inputs are transformed; beyond 6 little is left
// to save. (AVX-512, 32 to 512 channels: from 8 tiles of 256 channels to 28 of 64 all are equally
// fast within 5 % if weights come from memory.)
constexpr WinogradItem large_winograd_item(int32_t panels) {
  int32_t item_panels = 1;
  for (int32_t count : {2, 3, 5, 6, 4})
    if (panels % count == 0) item_panels = count;
  const int32_t register_panels = item_panels % 4 == 0 ? 4 : item_panels % 2 == 0 ? 2 : 1;
  return {register_panels == 4 ? 4 : 8, register_panels, 16, item_panels, 64};
}

// The choice depends on the whole output, so that all parts have chunks of the same size. In 19
// cases on an H200 (132 units) the large one is the fastest from 112 groups on, the small one with
// 50 and fewer. Where a group may have less local memory it takes fewer input channels at once.
constexpr WinogradGroup fastest_winograd_group(const OperandShape& y, const GpuFacts& gpu) {
  constexpr WinogradGroup kLarge = kPlainWinogradGroup;
  constexpr WinogradGroup kSmall = {8, 32, 16, 8, 4};
  const int64_t tiles = y.dims[0] * ceil_div(y.dims[2], 2) * ceil_div(y.dims[3], 2);
  const int64_t groups = ceil_div(tiles, kLarge.tiles) * ceil_div(y.dims[1], kLarge.channels);
  WinogradGroup group = 2 * groups >= gpu.units ? kLarge : kSmall;
  while (static_cast<double>(group.local_bytes()) > gpu.max_group_local_bytes && group.chunk > 4)
    group.chunk /= 2;
  return group;
}

// Returns the pixels of the buffer kernel's work-items on a GPU. Where a tap reaches outside, sums
// are kept twice, and little else is.
int32_t largest_buffer_pixels(const GpuFacts& gpu) {
  for (const int32_t pixels : {kConv2dBufferPixels, 4})
    if (gpu.thread_registers == 0 || conv2d_buffer_registers(2 * pixels, 1) <= gpu.thread_registers)
      return pixels;
  return 1;
}

// Returns the tile whose work-items take the fewest issue slots for an input texel. Besides its
// multiply-adds an item takes about 50 for loads, addresses and waits, whatever its tile (compiled
// by Mesa 25.0.7: 39 to 71 on Adreno 640, 49 to 57 on Mali G610). The result does not depend on the
// tile.
Conv2dTexelTile fastest_texel_tile(const StepShape& step, const GpuFacts& gpu) {
  constexpr Conv2dTexelTile kTiles[] = {{4, 2}, {3, 2}, {2, 2}, {4, 1}, {2, 1}};
  constexpr int64_t kOtherSlots = 50;
  const Conv2dTexelGrid grid = conv2d_texel_grid(step);
  const bool has_runs = half_arithmetic_of(step) == HalfArithmetic::Runs;
  Conv2dTexelTile best;
  int64_t least_slots = INT64_MAX;
  for (const Conv2dTexelTile& tile : kTiles) {
    const int32_t in_runs =
        tile.half_registers(kHalfSumProducts + 1) + Conv2dTexelTile::kRunRegisters;
    if (!gpu.has_registers(tile.registers()) || (has_runs && !gpu.has_registers(in_runs)) ||
        !conv2d_takes_texels(step.params_as<Conv2dParams>(), step.output(), tile.texels))
      continue;
    const int64_t slots = ceil_div(grid.texels, tile.texels) * ceil_div(grid.out_w, tile.pixels) *
                          (tile.pixels * tile.channels() * kChannelPad + kOtherSlots);
    if (slots >= least_slots) continue;
    least_slots = slots;
    best = tile;
  }
  return best;
}

uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) {
  const auto& params = step.params_as<Conv2dParams>();
  const OperandShape& y = step.output();
  switch (step.kernel->algorithm) {
    case Algorithm::Tiled:
      return write_gemm_tile(
          fastest_gemm_tile(*step.kernel, conv2d_gemm_size(step.operands[0], step.operands[1], y),
                            gpu),
          out_tile);
    case Algorithm::WinogradGroup: {
      const WinogradGroup group = fastest_winograd_group(y, gpu);
      return write_tile(
          {group.tiles, group.channels, group.chunk, group.item_tiles, group.item_channels},
          out_tile);
    }
    case Algorithm::Texels: {
      // A GPU with registers for the buffer kernel's sums has many units, which small items fill.
      if (largest_buffer_pixels(gpu) == kConv2dBufferPixels) return 0;
      const Conv2dTexelTile tile = fastest_texel_tile(step, gpu);
      const auto items = static_cast<int32_t>(kClGridItems);
      return write_tile({items, items, items, tile.pixels, tile.texels}, out_tile);
    }
    default:
      break;
  }
  // Only a processor has registers for two panels.
  if (gpu.registers >= conv2d_buffer_registers(kConv2dBufferPixels, 2)) {
    if (step.kernel->algorithm == Algorithm::WinogradItem) {
      const WinogradItem item =
          large_winograd_item(conv2d_panels(params, y, step.part_dim, step.part).count());
      return write_tile(
          {item.register_tiles, item.register_panels, item.tiles, item.panels, item.channels},
          out_tile);
    }
    // Groups have 2 items: PoCL's loop over the work-items of 32 costs 5 to 15 % (AVX-512, 1x1 and
    // 3x3).
    const bool takes_two = conv2d_takes_panels(params, y, step.part_dim, step.part, 2);
    return write_tile({2, 1, 1, kConv2dBufferPixels, takes_two ? 2 : 1}, out_tile);
  }
  if (step.kernel->algorithm == Algorithm::WinogradItem) return 0;
  const int32_t pixels = largest_buffer_pixels(gpu);
  if (pixels == kConv2dBufferPixels) return 0;
  return write_tile({static_cast<int32_t>(kClLineItems), 1, 1, pixels, 1}, out_tile);
}

// ---- StepWork ---------------------------------------------------------------------------------

// Holds the facts that the kernels of the operator share.
struct Conv2dPart {
  const StepShape& step;
  const Conv2dParams& params;
  const OperandShape& x;
  const OperandShape& w;
  const OperandShape& y;
  Range rows;      // rows of the output
  Range channels;  // likewise
  double pixels;   // output pixels in all images
  double taps;
  double depth;  // multiply-adds per output element
  double read_bytes;
  double residual_bytes;
  double weight_bytes;

  explicit Conv2dPart(const StepShape& of)
      : step(of),
        params(of.params_as<Conv2dParams>()),
        x(of.operands[0]),
        w(of.operands[1]),
        y(of.output()),
        rows(rows_of_part(of.part_dim, of.part, y)),
        channels(channels_of_part(of.part_dim, of.part, y)),
        pixels(static_cast<double>(y.dims[0]) * rows.count() * y.dims[3]),
        taps(static_cast<double>(w.dims[2]) * w.dims[3]),
        depth(taps * w.dims[1]) {
    // The part covers this share of the groups.
    const double of_groups = params.groups == 1 ? 1 : double{1} * channels.count() / y.dims[1];
    read_bytes =
        of_groups * x.dims[0] * padded_channels(x) * element_bytes(x) *
        static_cast<double>(
            inputs_read(vertical_axis(params, w.dims), x.dims[2], y.dims[2], rows) *
            inputs_read(horizontal_axis(params, w.dims), x.dims[3], y.dims[3], {0, y.dims[3]}));
    residual_bytes = params.has_residual == 0 ? 0
                                              : pixels * round_up(channels.count(), kChannelPad) *
                                                    element_bytes(of.operands[3]);
    const double stored = conv2d_panels(params, y, of.part_dim, of.part).count() * kChannelPanel;
    const int32_t outputs = winograd_outputs(of.kernel->packing);
    const double weights = outputs == 0 ? depth : (outputs + 2.0) * (outputs + 2.0) * w.dims[1];
    weight_bytes = stored * (weights * element_bytes(w) + element_bytes(of.operands[2]));
  }

  double elements() const { return pixels * channels.count(); }
};

// Bias is where sums begin; activation, residual and stores are what ends them.
void fill_ends(const Conv2dPart& part, const WorkMachine& machine, StepWork* out) {
  out->needed_macs = part.elements() * part.depth;
  if (part.residual_bytes > 0) out->operations += part.elements();
  add_curve(part.params.activation, part.elements(), machine, out);
  out->moved_bytes += part.residual_bytes + written_bytes(part.step);
  // A part of channels is a piece of each pixel.
  const bool is_whole = part.channels.count() == part.y.dims[1];
  out->run_bytes = is_whole ? written_bytes(part.step) / (part.y.dims[0] * part.rows.count())
                            : part.channels.count() * element_bytes(part.y);
}

// Counts panels of weights that pass over the pixels of a worker's rectangles (conv2d_f32_cpu.cc).
void count_panel_work(const Conv2dPart& part, const WorkMachine& machine, StepWork* out) {
  const StepShape& step = part.step;
  const Conv2dParams& params = part.params;
  const PanelTileSize size = panel_tile_size_of(machine, *out);
  const Conv2dWork work = conv2d_work(params, part.x, part.w, part.y, step.part_dim, step.part);
  const auto images = static_cast<double>(work.images);
  const int32_t group_channels = part.y.dims[1] / params.groups;
  const int64_t group_panels = ceil_div(group_channels, kChannelPanel);
  const int64_t panels = group_panels < work.panels.count() ? group_panels : work.panels.count();
  const double groups = static_cast<double>(work.panels.count()) / static_cast<double>(panels);
  const bool has_last = step.part_dim != SplitDim::OutputChannel || step.part.end == part.y.dims[1];

  PanelProduct product;
  product.runs = images;
  product.pixels = work.pixels;
  const int32_t most = size.most_pixels(group_channels);
  product.tile_pixels =
      work.has_copies && size.pixels > 6
          ? most
          : size.pixels_for(
                int64_t{padded_channels(part.x)} * params.stride_w * element_bytes(part.x), most);
  product.groups = groups;
  product.panels = panels;
  product.most_panels = size.panels;
  product.lanes = static_cast<double>(panels - 1) * kChannelPanel +
                  (has_last ? size.last_lanes(group_channels) : kChannelPanel);
  product.depth = part.depth;
  product.input_bytes = element_bytes(part.x);
  product.weight_bytes = element_bytes(part.w);

  PanelCounts counts;
  if (part.x.dtype == DType::F32 &&
      conv2d_takes_dots(work.dots, part.y.dims[1], static_cast<int64_t>(part.depth),
                        machine.vector_lanes)) {
    // Counts lanes along the reduction: tiles of a few pixels times all channels.
    const int32_t dots = conv2d_dots_for(part.y.dims[1]);
    const int64_t tile = conv2d_dot_pixels(dots);
    const double vectors =
        static_cast<double>(conv2d_dot_vectors(work.dots, machine.vector_lanes)) *
        machine.vector_lanes;
    counts.tiles = counts.calls = images * static_cast<double>(ceil_div(work.pixels, tile));
    counts.macs = counts.calls * static_cast<double>(tile) * dots * vectors;
    counts.moved_bytes =
        counts.calls * vectors *
        static_cast<double>(tile * element_bytes(part.x) + int64_t{dots} * element_bytes(part.w));
    out->operations += counts.calls * static_cast<double>(tile) * dots * machine.vector_lanes;
  } else if (conv2d_computed_share(params, part.x, part.w, part.y) < 1) {
    // Tiles are pixels of a row whose taps inside are the same.
    const WindowAxis vertical = vertical_axis(params, part.w.dims);
    const WindowAxis horizontal = horizontal_axis(params, part.w.dims);
    const auto rows_inside =
        static_cast<double>(taps_inside(vertical, part.x.dims[2], part.y.dims[2], part.rows));
    product.runs = images * part.rows.count();
    for (int32_t column = 0; column < part.y.dims[3];) {
      const int32_t end = end_of_segment(horizontal, part.x.dims[3], part.y.dims[3], column);
      const auto columns_inside = static_cast<double>(
          taps_inside(horizontal, part.x.dims[3], part.y.dims[3], {column, column + 1}));
      product.pixels = end - column;
      product.depth = part.w.dims[1] * columns_inside * rows_inside / part.rows.count();
      counts.add(count_panels(product, size));
      column = end;
    }
  } else {
    counts = count_panels(product, size);
  }
  out->macs = counts.macs;
  out->moved_bytes += counts.moved_bytes;
  out->tile_calls = counts.calls;

  const PanelSharers sharers =
      fill_panel_tasks(work.blocks, work.images, work.pixels, work.panels.count(), machine, out);
  // The memory a worker goes through: passes of panels over its pixels, tile by tile.
  const int64_t panel_bytes =
      static_cast<int64_t>(part.depth) * kChannelPanel * element_bytes(part.w);
  const double worker_panels = static_cast<double>(work.panels.count()) * sharers.of_panels /
                               smaller(machine.threads, out->tasks);
  const double pass_panels = smaller(
      static_cast<double>(size.pass_panels(panel_bytes, size.panels)), larger(worker_panels, 1));
  const double pass_bytes = pass_panels * static_cast<double>(panel_bytes);
  const double passes = larger(worker_panels / pass_panels, 1);
  const double call_bytes = smaller(pass_panels, size.panels) * static_cast<double>(panel_bytes);
  const double pixel_bytes = part.depth * element_bytes(part.x);  // bytes of a window
  const double tile_bytes = product.tile_pixels * pixel_bytes;
  const double row_bytes =
      part.w.dims[2] * map_bytes(part.x, 1, padded_channels(part.x)) / part.x.dims[0];
  WorkMemory memory(step, machine, out);
  memory.read(part.read_bytes, sharers.of_pixels);
  memory.read(part.residual_bytes);
  memory.weights(part.weight_bytes, sharers.of_panels);
  memory.write(written_bytes(step));
  // The next tile reads a pass's weights again.
  memory.again((counts.tiles - sharers.of_panels) * part.weight_bytes, pass_bytes + tile_bytes);
  // The next panels of every pass read a tile's inputs again.
  const double windows = part.pixels * pixel_bytes / groups * sharers.of_pixels;
  memory.again(windows * larger(pass_panels / size.panels - 1, 0) * passes,
               smaller(tile_bytes, part.read_bytes) + call_bytes);
  // A row's inputs are read again for the next rows' taps.
  memory.again(larger(windows - part.read_bytes * sharers.of_pixels, 0) * passes,
               row_bytes + pass_bytes);
  // A worker's next pass reads all its inputs again.
  memory.again(part.read_bytes * sharers.of_pixels * (passes - 1),
               part.read_bytes * out->busiest_share + pass_bytes);
  memory.finish();
}

// Returns the operations of a tile's transforms per element of the input and of the output: those
// of a line, times the lines of both dims (winograd.h, conv2d_winograd_f32_cpu.cc).
constexpr double winograd_input_operations(int32_t outputs) {
  const int32_t pairs = outputs / 2;
  return 2.0 * (outputs + 2) * (2 * pairs + 2 * pairs * pairs);
}
constexpr double winograd_output_operations(int32_t outputs) {
  const int32_t pairs = outputs / 2;
  return (2.0 * outputs + 2) * (3 * pairs + (2 * pairs - 1) * pairs + 1);
}

void count_winograd_row(const Conv2dPart& part, int32_t outputs, const WorkMachine& machine,
                        StepWork* out) {
  const StepShape& step = part.step;
  const PanelTileSize size = panel_tile_size(machine.vector_lanes);
  const WinogradWork work = winograd_work(outputs, part.x, part.y, step.part_dim, step.part);
  const double positions = (outputs + 2.0) * (outputs + 2.0);
  const double in_lanes = round_up(part.x.dims[1], kChannelPanel);
  const double out_lanes = work.panels.count() * kChannelPanel;
  const auto tiles = static_cast<double>(work.tiles);
  const auto block_tiles = static_cast<double>(work.tiles_per_block);

  PanelProduct product;
  product.runs = positions * static_cast<double>(work.tile_blocks - 1);
  product.pixels = work.tiles_per_block;
  product.tile_pixels = size.pixels;
  product.panels = work.panels.count();
  product.most_panels = size.panels;
  product.lanes = out_lanes;
  product.depth = part.x.dims[1];
  product.input_bytes = kWinogradNumberBytes;
  product.weight_bytes = element_bytes(part.w);
  PanelCounts counts = count_panels(product, size);
  product.runs = positions;
  product.pixels = work.tiles - (work.tile_blocks - 1) * work.tiles_per_block;
  counts.add(count_panels(product, size));
  out->macs = counts.macs;
  out->tile_calls = counts.calls;

  // Tasks of a block of tiles follow each other: panels are to blocks of tiles what pixels are to
  // blocks of panels elsewhere. A worker transforms a block's inputs once.
  const PanelBlocks blocks = {work.panels_per_block, work.tiles_per_block, work.panel_blocks,
                              work.tile_blocks};
  const PanelSharers sharers =
      fill_panel_tasks(blocks, 1, work.panels.count(), work.tiles, machine, out);
  const double transformed = sharers.of_panels;
  out->operations += transformed * tiles * in_lanes * winograd_input_operations(outputs) +
                     tiles * out_lanes * winograd_output_operations(outputs);
  const double input_elements = tiles * positions * in_lanes * transformed;
  const double product_elements = tiles * positions * out_lanes;
  // Inputs are read, transformed in two steps, stored; products stored and read.
  out->moved_bytes +=
      counts.moved_bytes + kWinogradNumberBytes * (4 * input_elements + 2 * product_elements);

  const double input_bytes = block_tiles * positions * in_lanes * kWinogradNumberBytes;
  const double product_bytes = block_tiles * positions *
                               static_cast<double>(work.panels_per_block) * kChannelPanel *
                               kWinogradNumberBytes;
  const double pair_bytes = size.panels * part.x.dims[1] * kChannelPanel * element_bytes(part.w);
  const double weight_readers = sharers.of_pixels;
  const double side = outputs + 2.0;
  WorkMemory memory(step, machine, out);
  memory.read(part.read_bytes, transformed);
  memory.read(part.residual_bytes);
  memory.weights(part.weight_bytes, weight_readers);
  memory.write(written_bytes(step));
  memory.scratch(input_bytes + product_bytes);
  // Inputs of a tile are its neighbours', too.
  memory.again(part.read_bytes * transformed * (side * side / (outputs * outputs) - 1),
               side * map_bytes(part.x, 1, padded_channels(part.x)) / part.x.dims[0]);
  // The weights of a position are read again for the next tile of registers and for the next block
  // of tiles.
  const double register_tiles = counts.tiles / positions / static_cast<double>(work.tile_blocks);
  memory.again(
      part.weight_bytes * static_cast<double>(work.tile_blocks) * larger(register_tiles - 1, 0),
      pair_bytes + size.pixels * in_lanes * kWinogradNumberBytes);
  memory.again(
      part.weight_bytes * larger(static_cast<double>(work.tile_blocks) - weight_readers, 0),
      part.weight_bytes + input_bytes + product_bytes);
  // Transformed inputs are read by the first panels after they are made, then by the next ones of
  // the task.
  const double pairs = static_cast<double>(ceil_div(work.panels_per_block, size.panels));
  const double in_task =
      input_elements * kWinogradNumberBytes / transformed * static_cast<double>(work.panel_blocks);
  memory.again(in_task, input_bytes + product_bytes);
  memory.again(in_task * (pairs - 1), input_bytes / positions + pair_bytes);
  memory.again(product_elements * kWinogradNumberBytes, product_bytes);
  memory.finish();
}

// ---- GPU ----

// Describes work-items of some pixels and channels, without local memory.
struct ItemBlocks {
  double pixels;       // per item
  double channels;     // per item
  double pixel_items;  // items of a group side by side
  double row_items;    // items of a group one under the other
  double channel_items;
  double passes = 1;         // passes over all pixels, each for some of the channels
  double pass_weight_bytes;  // weights of one pass
};

// Counts the bytes of x and of the weights that the items of a group need, each byte once for a
// group.
void count_item_memory(const Conv2dPart& part, const ItemBlocks& blocks, const WorkMachine& machine,
                       StepWork* out) {
  const double columns =
      (blocks.pixel_items * blocks.pixels - 1) * part.params.stride_w + part.w.dims[3];
  const double rows = (blocks.row_items - 1) * part.params.stride_h + part.w.dims[2];
  const double group_inputs = rows * columns * part.w.dims[1] * element_bytes(part.x);
  const double group_weights =
      blocks.channel_items * blocks.channels * part.depth * element_bytes(part.w);
  WorkMemory memory(part.step, machine, out);
  memory.read(part.read_bytes);
  memory.read(part.residual_bytes);
  memory.weights(part.weight_bytes);
  memory.write(written_bytes(part.step));
  // Groups follow each other by their channels, up to those whose weights are to stay, then by
  // their pixels; then all pixels pass for the next channels.
  const double busy = smaller(out->work_groups, machine.units);
  memory.again(out->work_groups * group_inputs - part.read_bytes * blocks.passes,
               busy * (group_inputs + group_weights));
  memory.again(part.read_bytes * (blocks.passes - 1), part.read_bytes + blocks.pass_weight_bytes);
  memory.again(out->work_groups * group_weights - part.weight_bytes,
               blocks.pass_weight_bytes + busy * group_inputs);
  memory.finish();
}

void count_buffer_row(const Conv2dPart& part, const ClLaunch& launch, const WorkMachine& machine,
                      StepWork* out) {
  const Conv2dBufferGrid grid = conv2d_buffer_grid(part.step);
  const auto items = static_cast<double>(grid.items(part.y.dims[0]));
  const double lanes = grid.item_panels * double{kClLanes};
  out->macs = items * grid.item_pixels * lanes * part.depth;
  out->moved_bytes += items * part.depth *
                      (lanes * element_bytes(part.w) + grid.item_pixels * element_bytes(part.x));
  out->operations += items * part.depth * grid.item_pixels * factor_operations(part.step);
  out->item_registers = conv2d_buffer_registers(grid.item_pixels, grid.item_panels);
  out->tile_calls = out->waves * part.depth;
  const auto group = static_cast<double>(launch.local[0]);
  ItemBlocks blocks = {};
  blocks.pixels = grid.item_pixels;
  blocks.channels = lanes;
  blocks.channel_items = smaller(group, static_cast<double>(grid.inner_blocks));
  blocks.pixel_items =
      smaller(std::ceil(group / blocks.channel_items), static_cast<double>(grid.pixel_blocks));
  blocks.row_items = 1;
  blocks.passes = static_cast<double>(grid.outer_blocks);
  blocks.pass_weight_bytes =
      static_cast<double>(grid.inner_blocks) * lanes * part.depth * element_bytes(part.w);
  count_item_memory(part, blocks, machine, out);
}

void count_texel_row(const Conv2dPart& part, const ClLaunch& launch, const WorkMachine& machine,
                     StepWork* out) {
  const Conv2dTexelTile tile = conv2d_texel_tile(part.step);
  // Work-items inside the grid.
  const int64_t extents[] = {ceil_div(int64_t{launch.scalars[0]}, tile.texels), launch.scalars[1],
                             launch.scalars[2]};
  const auto items = static_cast<double>(extents[0] * extents[1] * extents[2]);
  const double texels = part.taps * ceil_div(part.w.dims[1], kChannelPad);
  out->macs = items * tile.pixels * tile.channels() * part.depth;
  out->moved_bytes += items * (texels * tile.pixels * kChannelPad * element_bytes(part.x) +
                               part.depth * tile.channels() * element_bytes(part.w));
  out->operations += items * texels * tile.pixels * kChannelPad * factor_operations(part.step);
  out->item_registers =
      out->mac_type == DType::F16 ? tile.half_registers(part.depth) : tile.registers();
  if (out->mac_type == DType::F16 && part.depth > kHalfSumProducts)
    out->address_registers = Conv2dTexelTile::kRunRegisters;
  out->tile_calls = out->waves * texels;
  ItemBlocks blocks = {};
  blocks.pixels = tile.pixels;
  blocks.channels = tile.channels();
  const auto group_items = [&](int dim) {
    return smaller(static_cast<double>(launch.local[dim]), static_cast<double>(extents[dim]));
  };
  blocks.channel_items = group_items(0);
  blocks.pixel_items = group_items(1);
  blocks.row_items = group_items(2);
  blocks.pass_weight_bytes = part.weight_bytes;
  count_item_memory(part, blocks, machine, out);
}

void count_tiled_row(const Conv2dPart& part, const WorkMachine& machine, StepWork* out) {
  const GemmTile tile = gemm_tile_of(part.step);
  GemmSize size = conv2d_gemm_size(part.x, part.w, part.y);
  size.rows = static_cast<int64_t>(part.pixels);
  size.columns = part.channels.count();
  WorkMemory memory(part.step, machine, out);
  memory.read(part.read_bytes);
  memory.read(part.residual_bytes);
  memory.weights(part.weight_bytes);
  memory.write(written_bytes(part.step));
  fill_gemm(tile, size, {part.read_bytes, element_bytes(part.x), factor_operations(part.step)},
            {part.weight_bytes, element_bytes(part.w)}, &memory, out);
  memory.finish();
}

void count_winograd_item(const Conv2dPart& part, const WorkMachine& machine, StepWork* out) {
  const WinogradItem item = winograd_item_of(part.step);
  const WinogradWork work = winograd_item_work(part.step);
  constexpr double kPositions = WinogradItem::kPositions;
  const auto tiles = static_cast<double>(work.tiles);
  const double panel_blocks = static_cast<double>(work.panels.count()) / item.panels;
  const double out_lanes = work.panels.count() * double{kClLanes};
  const double computed = std::ceil(tiles / item.register_tiles) * item.register_tiles;
  out->macs = kPositions * computed * out_lanes * part.x.dims[1];
  const double register_calls =
      kPositions * computed / item.register_tiles * work.panels.count() / item.register_panels;
  out->moved_bytes += register_calls * part.x.dims[1] *
                      (item.register_tiles * kWinogradNumberBytes +
                       item.register_panels * double{kClLanes} * element_bytes(part.w));
  out->operations += tiles * panel_blocks * round_up(part.x.dims[1], kClLanes) *
                         winograd_input_operations(WinogradItem::kOutputs) +
                     tiles * out_lanes * winograd_output_operations(WinogradItem::kOutputs);
  out->item_registers = item.register_tiles * item.register_panels * double{kClLanes} +
                        item.register_panels * double{kClLanes} + 1;
  out->tile_calls = register_calls * part.x.dims[1];
  const auto blocks = std::ceil(tiles / item.tiles);
  WorkMemory memory(part.step, machine, out);
  memory.read(part.read_bytes);
  memory.read(part.residual_bytes);
  memory.weights(part.weight_bytes);
  memory.write(written_bytes(part.step));
  memory.again(part.read_bytes * (panel_blocks * 36.0 / 16 - 1), part.weight_bytes / panel_blocks);
  memory.again(part.weight_bytes * larger(blocks * item.tiles / item.register_tiles - 1, 0),
               part.weight_bytes / panel_blocks);
  memory.finish();
}

void count_winograd_group(const Conv2dPart& part, const WorkMachine& machine, StepWork* out) {
  const WinogradGroup group = winograd_group_of(part.step);
  const WinogradWork work =
      winograd_work(WinogradGroup::kOutputs, part.x, part.y, part.step.part_dim, part.step.part);
  constexpr double kPositions = WinogradGroup::kPositions;
  const double steps = std::ceil(double{1} * part.x.dims[1] / group.chunk);
  const double groups = out->work_groups;
  const auto items = static_cast<double>(group.items());
  const double depth = steps * group.chunk;
  out->macs = groups * kPositions * group.tiles * group.channels * depth;
  const double group_inputs = kPositions * group.tiles * depth * element_bytes(part.x);
  const double group_weights = kPositions * group.channels * depth * element_bytes(part.w);
  out->moved_bytes += groups * (group_inputs + group_weights);
  out->operations +=
      groups * (group.tiles * depth * winograd_input_operations(WinogradGroup::kOutputs) +
                double{1} * group.tiles * group.channels *
                    winograd_output_operations(WinogradGroup::kOutputs));
  out->item_registers = group.item_tiles * group.item_channels + group.item_tiles +
                        group.item_channels + kPositions +
                        kPositions * group.channels * group.chunk / items;
  out->tile_calls = out->waves * steps;
  const double column_groups =
      std::ceil(work.panels.count() * double{kChannelPanel} / group.channels);
  WorkMemory memory(part.step, machine, out);
  memory.read(part.read_bytes);
  memory.read(part.residual_bytes);
  memory.weights(part.weight_bytes);
  memory.write(written_bytes(part.step));
  memory.again(larger(groups * group_inputs - part.read_bytes, 0), group_inputs + group_weights);
  memory.again(larger(groups * group_weights - part.weight_bytes, 0),
               column_groups * group_weights + group_inputs);
  memory.finish();
}

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const Conv2dPart part(step);
  fill_ends(part, machine, out);
  const int32_t outputs = winograd_outputs(step.kernel->packing);
  if (is_cpu(step)) {
    if (outputs != 0) return count_winograd_row(part, outputs, machine, out);
    return count_panel_work(part, machine, out);
  }
  ClLaunch launch;
  switch (step.kernel->algorithm) {
    case Algorithm::WinogradItem:
      return count_winograd_item(part, machine, out);
    case Algorithm::WinogradGroup:
      return count_winograd_group(part, machine, out);
    case Algorithm::Tiled:
      return count_tiled_row(part, machine, out);
    case Algorithm::Texels:
      conv2d_launch(step, &launch);
      return count_texel_row(part, launch, machine, out);
    default:
      conv2d_launch(step, &launch);
      return count_buffer_row(part, launch, machine, out);
  }
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Convolution, work, choose_tile};

}  // namespace codl::kernels::conv2d
