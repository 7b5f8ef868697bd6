#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd_cl.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_Conv2dBuffer(A, G, N)                                          \
  A(int, item_count) A(int, inner_blocks) A(int, panel_begin) A(int, panel_end)  \
  A(int, blocks) A(int, rows) A(int, batch) A(int, out_w) A(int, first_row)      \
  A(int, in_h) A(int, in_w) A(int, group_in_c) A(int, group_out_c) A(int, out_c) \
  G(Filter, filter)                                                              \
  G(NhwcInput, x) G(NhwcOutput, y) G(NhwcRows, residual) G(Activation, activation)
#define CODL_ARGS_Conv2dTexels(A, G, N)                                          \
  A(int, texels) A(int, blocks) A(int, batch_rows)                               \
  A(int, first_texel) A(int, rows) A(int, first_row) A(int, out_w) A(int, out_c) \
  A(int, in_h) A(int, in_w) A(int, group_in_c) A(int, group_out_c)               \
  G(Filter, filter) G(HeldImage, x) G(HeldImage, y)                              \
  A(int, residual_row_begin) A(int, residual_rows_held) G(Activation, activation)
#define CODL_ARGS_Conv2dTiled(A, G, N)                                    \
  A(int, column_tiles) A(int, pixels) A(int, image_pixels)                \
  A(int, panel_begin) A(int, panel_end) A(int, channel_end) A(int, out_c) \
  A(int, out_w) A(int, first_row) A(int, in_h) A(int, in_w) A(int, in_c)  \
  G(Filter, filter)                                                       \
  G(NhwcInput, x) G(NhwcOutput, y) G(NhwcRows, residual) G(Activation, activation)
// Says where tiles lie: winograd_place.cl.
#define CODL_ARGS_Winograd(A, p)                                              \
  A(int, tiles) A(int, tile_rows) A(int, tile_columns) A(int, first_tile_row) \
  A(int, row_begin) A(int, row_end) A(int, pad_top) A(int, pad_left)          \
  A(int, x_row_end) A(int, in_w) A(int, in_c) A(int, out_w) A(int, out_c)
#define CODL_ARGS_WinogradItem(A, G, N)                                          \
  A(int, item_count) A(int, tile_blocks) A(int, block_tiles) A(int, panel_begin) \
  G(Winograd, winograd)                                                          \
  G(NhwcInput, x) G(NhwcOutput, y) G(NhwcRows, residual) G(Activation, activation)
#define CODL_ARGS_WinogradGroup(A, G, N)                                           \
  A(int, channel_blocks) A(int, panel_begin) A(int, panel_end) A(int, channel_end) \
  G(Winograd, winograd)                                                            \
  G(NhwcInput, x) G(NhwcOutput, y) G(NhwcRows, residual) G(Activation, activation)
// clang-format on
CODL_CL_GROUP(Winograd);
CODL_CL_ARGS(Conv2dBuffer);
CODL_CL_ARGS(Conv2dTexels);
CODL_CL_ARGS(Conv2dTiled);
CODL_CL_ARGS(WinogradItem);
CODL_CL_ARGS(WinogradGroup);

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

FilterArgs filter_of(const Conv2dShape& shape) {
  return filter_args(shape.params, shape.w.dims[2], shape.w.dims[3]);
}

NhwcRowsArgs residual_of(const StepShape& step, const Conv2dShape& shape) {
  return shape.params.has_residual != 0 ? nhwc_rows(step, shape.residual) : NhwcRowsArgs{};
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
  out->add(Conv2dBufferArgs{.item_count = set_line(step, grid.items(y.dims[0]), out),
                            .inner_blocks = static_cast<int32_t>(grid.inner_blocks),
                            .panel_begin = grid.panels.begin,
                            .panel_end = grid.panels.end,
                            .blocks = static_cast<int32_t>(grid.pixel_blocks),
                            .rows = grid.rows,
                            .batch = y.dims[0],
                            .out_w = grid.out_w,
                            .first_row = shape.rows.begin,
                            .in_h = shape.x.dims[2],
                            .in_w = grid.in_w,
                            .group_in_c = shape.group_in_c,
                            .group_out_c = shape.group_out_c,
                            .out_c = y.dims[1],
                            .filter = filter_of(shape),
                            .x = nhwc_input(shape.x),
                            .y = nhwc_output(step),
                            .residual = residual_of(step, shape),
                            .activation = activation_args(shape.params)});
}

void launch_texels(const StepShape& step, ClLaunch* out) {
  const Conv2dShape shape = shape_of(step);
  const Conv2dParams& params = shape.params;
  const OperandShape& y = shape.y;
  const Conv2dTexelGrid grid = conv2d_texel_grid(step);
  const Conv2dTexelTile tile = conv2d_texel_tile(step);
  out->define("PIXELS", tile.pixels);
  out->define("TEXELS", tile.texels);
  out->define("HAS_GROUPS", params.groups > 1 ? 1 : 0);
  out->define("LAST_CHANNELS", shape.group_in_c % kChannelPad);
  define_output(params, out);
  const int64_t blocks = ceil_div(grid.out_w, tile.pixels);
  const int64_t batch_rows = int64_t{y.dims[0]} * grid.rows;
  const HeldImageArgs residual =
      params.has_residual != 0 ? held_image(shape.residual) : HeldImageArgs{};
  set_grid(step, ceil_div(grid.texels, tile.texels), blocks, batch_rows, out);
  out->add(Conv2dTexelsArgs{.texels = grid.texels,
                            .blocks = static_cast<int32_t>(blocks),
                            .batch_rows = static_cast<int32_t>(batch_rows),
                            .first_texel = cl_channels(step).begin / kChannelPad,
                            .rows = grid.rows,
                            .first_row = shape.rows.begin,
                            .out_w = grid.out_w,
                            .out_c = y.dims[1],
                            .in_h = shape.x.dims[2],
                            .in_w = grid.is_joined ? grid.out_w : shape.x.dims[3],
                            .group_in_c = shape.group_in_c,
                            .group_out_c = shape.group_out_c,
                            .filter = filter_of(shape),
                            .x = held_image(shape.x),
                            .y = held_image(y),
                            .residual_row_begin = residual.row_begin,
                            .residual_rows_held = residual.rows_held,
                            .activation = activation_args(params)});
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
  out->add(
      Conv2dTiledArgs{.column_tiles = set_gemm(gemm_tile_of(step), pixels, panels.count(), out),
                      .pixels = pixels,
                      .image_pixels = image_pixels,
                      .panel_begin = panels.begin,
                      .panel_end = panels.end,
                      .channel_end = stored.begin + stored.stored_count,
                      .out_c = y.dims[1],
                      .out_w = y.dims[3],
                      .first_row = shape.rows.begin,
                      .in_h = shape.x.dims[2],
                      .in_w = shape.x.dims[3],
                      .in_c = shape.group_in_c,
                      .filter = filter_of(shape),
                      .x = nhwc_input(shape.x),
                      .y = nhwc_output(step),
                      .residual = residual_of(step, shape),
                      .activation = activation_args(shape.params)});
}

// conv2d_winograd4_f32_cl_buffer.cl has these points, too.
static_assert(kWinograd<2>.points[0] == 0.625 && kWinograd<2>.points[1] == 1.5);

WinogradArgs winograd_args(const Conv2dShape& shape, const WinogradWork& work) {
  return {.tiles = static_cast<int32_t>(work.tiles),
          .tile_rows = work.tile_rows.count(),
          .tile_columns = static_cast<int32_t>(work.tile_columns),
          .first_tile_row = work.tile_rows.begin,
          .row_begin = work.rows.begin,
          .row_end = work.rows.end,
          .pad_top = shape.params.pad_top,
          .pad_left = shape.params.pad_left,
          .x_row_end = shape.x.row_end,
          .in_w = shape.x.dims[3],
          .in_c = shape.x.dims[1],
          .out_w = shape.y.dims[3],
          .out_c = shape.y.dims[1]};
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
  // Each work-item gets as many tiles.
  const int64_t even_tiles = ceil_div(work.tiles, ceil_div(work.tiles, item.tiles));
  const int64_t block_tiles = round_up(static_cast<int32_t>(even_tiles), item.register_tiles);
  const int64_t tile_blocks = ceil_div(work.tiles, block_tiles);
  const int64_t items = tile_blocks * (work.panels.count() / item.panels);
  out->local[0] = out->local[1] = out->local[2] = 1;
  out->global[0] = static_cast<uint64_t>(items);
  out->global[1] = out->global[2] = 1;
  out->add(WinogradItemArgs{.item_count = static_cast<int32_t>(items),
                            .tile_blocks = static_cast<int32_t>(tile_blocks),
                            .block_tiles = static_cast<int32_t>(block_tiles),
                            .panel_begin = work.panels.begin,
                            .winograd = winograd_args(shape, work),
                            .x = nhwc_input(shape.x),
                            .y = nhwc_output(step),
                            .residual = residual_of(step, shape),
                            .activation = activation_args(shape.params)});
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
  out->add(WinogradGroupArgs{.channel_blocks = static_cast<int32_t>(channel_blocks),
                             .panel_begin = work.panels.begin,
                             .panel_end = work.panels.end,
                             .channel_end = stored.begin + stored.stored_count,
                             .winograd = winograd_args(shape, work),
                             .x = nhwc_input(shape.x),
                             .y = nhwc_output(step),
                             .residual = residual_of(step, shape),
                             .activation = activation_args(shape.params)});
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
