#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd_cl.h"

namespace codl::kernels {
namespace {

struct Conv2dShape {
  const Conv2dParams& params;
  const OperandShape& x;
  const OperandShape& w;
  const OperandShape& residual;  // y if there is none
  const OperandShape& y;
  Range rows;
  int32_t group_in_c;
  int32_t group_out_c;
};

Conv2dShape shape_of(const StepShape& step) {
  const auto& params = step.params_as<Conv2dParams>();
  const OperandShape& y = step.output();
  const OperandShape& w = step.operands[1];
  return {.params = params,
          .x = step.operands[0],
          .w = w,
          .residual = params.has_residual != 0 ? step.operands[3] : y,
          .y = y,
          .rows = rows_of_part(step.part_dim, step.part, y),
          .group_in_c = w.dims[1],
          .group_out_c = w.dims[0] / params.groups};
}

// Defines of what is stored, which all kernels know.
void define_output(const Conv2dParams& params, ClLaunch* out) {
  out->define("HAS_RESIDUAL", params.has_residual != 0 ? 1 : 0);
  out->define("ACTIVATION", params.activation);
}

// Scalars: kernel_h, kernel_w and the window's.
void add_filter(const Conv2dShape& shape, ClLaunch* out) {
  out->add_int(shape.w.dims[2]);
  out->add_int(shape.w.dims[3]);
  add_window(shape.params, out);
}

// The last scalars of the kernels on buffers: where y and a residual are, pixel_stride of both, the
// activation.
void add_buffers(const StepShape& step, const Conv2dShape& shape, ClLaunch* out) {
  add_nhwc_input(shape.x, out);
  add_nhwc_output(step, out);
  out->add_int(cl_strides(shape.y).pixel);
  if (shape.params.has_residual != 0) add_nhwc_rows(step, shape.residual, out);
  add_activation(shape.params, out);
}

void launch_buffer(const StepShape& step, ClLaunch* out) {
  const Conv2dShape shape = shape_of(step);
  const Conv2dParams& params = shape.params;
  const OperandShape& y = shape.y;
  const Conv2dBufferGrid grid = conv2d_buffer_grid(step);
  out->define("PIXELS", grid.item_pixels);
  out->define("PANELS", grid.item_panels);
  out->define("FEW_CHANNELS", shape.group_in_c <= kChannelPad ? shape.group_in_c : 0);
  define_output(params, out);
  set_line(step, grid.items(y.dims[0]), out);
  out->add_int(static_cast<int32_t>(grid.inner_blocks));
  out->add_int(grid.panels.begin);
  out->add_int(grid.panels.end);
  out->add_int(static_cast<int32_t>(grid.pixel_blocks));
  out->add_int(grid.rows);
  out->add_int(y.dims[0]);
  out->add_int(grid.out_w);
  out->add_int(shape.rows.begin);
  out->add_int(shape.x.dims[2]);
  out->add_int(grid.in_w);
  out->add_int(shape.group_in_c);
  out->add_int(shape.group_out_c);
  out->add_int(y.dims[1]);
  add_filter(shape, out);
  add_buffers(step, shape, out);
}

void launch_texels(const StepShape& step, ClLaunch* out) {
  const Conv2dShape shape = shape_of(step);
  const Conv2dParams& params = shape.params;
  const OperandShape& y = shape.y;
  const ClChannels channels = cl_channels(step);
  out->define("PIXELS", kConv2dTexelPixels);
  define_output(params, out);
  set_grid(step, channels.stored_count / 4, ceil_div(y.dims[3], kConv2dTexelPixels),
           int64_t{y.dims[0]} * shape.rows.count(), out);
  out->add_int(channels.begin / 4);
  out->add_int(shape.rows.count());
  out->add_int(shape.rows.begin);
  out->add_int(y.dims[3]);
  out->add_int(y.dims[1]);
  out->add_int(shape.x.dims[2]);
  out->add_int(shape.x.dims[3]);
  add_pixel_texels(shape.x, out);
  add_pixel_texels(y, out);
  out->add_int(shape.group_in_c);
  out->add_int(shape.group_out_c);
  add_filter(shape, out);
  out->add_int(shape.x.row_begin);
  out->add_int(rows_held(shape.x));
  out->add_int(y.row_begin);
  out->add_int(rows_held(y));
  if (params.has_residual != 0) {
    out->add_int(shape.residual.row_begin);
    out->add_int(rows_held(shape.residual));
  }
  add_activation(params, out);
}

void launch_tiled(const StepShape& step, ClLaunch* out) {
  const Conv2dShape shape = shape_of(step);
  const Conv2dParams& params = shape.params;
  const OperandShape& y = shape.y;
  const Range panels = conv2d_panels(params, y, step.part_dim, step.part);
  const int32_t image_pixels = shape.rows.count() * y.dims[3];
  const int32_t pixels = image_pixels * y.dims[0];
  const ClChannels stored = cl_channels(step);
  out->define("HAS_PAD_CHANNELS", shape.group_in_c % kChannelPad != 0 ? 1 : 0);
  define_output(params, out);
  const GemmTile tile = gemm_tile_of(step);
  set_gemm(tile, pixels, panels.count(), out);
  out->add_int(pixels);
  out->add_int(image_pixels);
  out->add_int(panels.begin);
  out->add_int(panels.end);
  out->add_int(stored.begin + stored.stored_count);
  out->add_int(y.dims[1]);
  out->add_int(y.dims[3]);
  out->add_int(shape.rows.begin);
  out->add_int(shape.x.dims[2]);
  out->add_int(shape.x.dims[3]);
  out->add_int(shape.group_in_c);
  add_filter(shape, out);
  add_buffers(step, shape, out);
}

// conv2d_winograd4_f32_cl_buffer.cl has these points, too.
static_assert(kWinograd<2>.points[0] == 0.625 && kWinograd<2>.points[1] == 1.5);

// WINOGRAD_PARAMS of winograd_place.cl.
void add_winograd(const Conv2dShape& shape, const WinogradWork& work, ClLaunch* out) {
  out->add_int(static_cast<int32_t>(work.tiles));
  out->add_int(work.tile_rows.count());
  out->add_int(static_cast<int32_t>(work.tile_columns));
  out->add_int(work.tile_rows.begin);
  out->add_int(work.rows.begin);
  out->add_int(work.rows.end);
  out->add_int(shape.params.pad_top);
  out->add_int(shape.params.pad_left);
  out->add_int(shape.x.row_end);
  out->add_int(shape.x.dims[3]);
  out->add_int(shape.x.dims[1]);
  out->add_int(shape.y.dims[3]);
  out->add_int(shape.y.dims[1]);
}

void launch_winograd_item(const StepShape& step, ClLaunch* out) {
  const Conv2dShape shape = shape_of(step);
  const WinogradItem item = winograd_item_of(step);
  const WinogradWork work = winograd_item_work(step);
  out->define("TILES", item.register_tiles);
  out->define("PANELS", item.register_panels);
  out->define("ITEM_TILES", item.tiles);
  out->define("ITEM_PANELS", item.panels);
  out->define("CHUNK", item.channels);
  define_output(shape.params, out);
  // As many tiles for each work-item.
  const int64_t even_tiles = ceil_div(work.tiles, ceil_div(work.tiles, item.tiles));
  const int64_t block_tiles = round_up(static_cast<int32_t>(even_tiles), item.register_tiles);
  const int64_t tile_blocks = ceil_div(work.tiles, block_tiles);
  const int64_t items = tile_blocks * (work.panels.count() / item.panels);
  out->local[0] = out->local[1] = out->local[2] = 1;
  out->global[0] = static_cast<uint64_t>(items);
  out->global[1] = out->global[2] = 1;
  out->add_int(static_cast<int32_t>(items));
  out->add_int(static_cast<int32_t>(tile_blocks));
  out->add_int(static_cast<int32_t>(block_tiles));
  out->add_int(work.panels.begin);
  add_winograd(shape, work, out);
  add_buffers(step, shape, out);
}

void launch_winograd_group(const StepShape& step, ClLaunch* out) {
  const Conv2dShape shape = shape_of(step);
  const WinogradGroup group = winograd_group_of(step);
  const WinogradWork work =
      winograd_work(WinogradGroup::kOutputs, shape.x, shape.y, step.part_dim, step.part);
  const ClChannels stored = cl_channels(step);
  out->define("GROUP_TILES", group.tiles);
  out->define("GROUP_CHANNELS", group.channels);
  out->define("CHUNK", group.chunk);
  out->define("ITEM_TILES", group.item_tiles);
  out->define("ITEM_CHANNELS", group.item_channels);
  define_output(shape.params, out);
  const int64_t channel_blocks =
      ceil_div(int64_t{work.panels.count()} * kChannelPanel, group.channels);
  out->local[0] = static_cast<uint64_t>(group.items());
  out->local[1] = out->local[2] = 1;
  out->local_bytes = static_cast<uint32_t>(group.local_bytes());
  out->global[0] =
      static_cast<uint64_t>(channel_blocks * ceil_div(work.tiles, group.tiles) * group.items());
  out->global[1] = out->global[2] = 1;
  out->add_int(static_cast<int32_t>(channel_blocks));
  out->add_int(work.panels.begin);
  out->add_int(work.panels.end);
  out->add_int(stored.begin + stored.stored_count);
  add_winograd(shape, work, out);
  add_buffers(step, shape, out);
}

}  // namespace

void conv2d_launch(const StepShape& step, ClLaunch* out_launch) {
  switch (step.kernel->algorithm) {
    case Algorithm::WinogradItem:
      return launch_winograd_item(step, out_launch);
    case Algorithm::WinogradGroup:
      return launch_winograd_group(step, out_launch);
    case Algorithm::Tiled:
      return launch_tiled(step, out_launch);
    case Algorithm::Texels:
      return launch_texels(step, out_launch);
    default:
      return launch_buffer(step, out_launch);
  }
}

}  // namespace codl::kernels
