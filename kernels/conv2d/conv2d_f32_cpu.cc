// 2-D convolution, Nhwc, float32: tiles of output pixels x panels of output channels
// (common/panel_tile-inl.h has the micro-kernel and the reasons).
//
// A task is a block of pixels of one image, flattened over rows, and a block of panels. Inside it
// tiles of pixels come outermost and panels innermost: a table of inputs serves every panel, and
// the weights of the pass (at most kPanelPassBytes, or one group of panels) come from the
// second-level cache for each tile.
#include "kernels/common/cpu_dispatch.h"
#include "kernels/conv2d/conv2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv2d/conv2d_f32_cpu.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// The parts of the arguments that every tile uses.
struct Conv2d {
  const Conv2dParams* params;
  const TensorView* x;
  const TensorView* y;
  const TensorView* residual;  // null: none
  const int32_t* filter;       // dims of w
  const float* weights;
  const float* bias;
  Range rows;
  Activation activation;
  const float** table;
  const float* zeros;  // a pixel
};

// Pixels of one image, flattened over the rows of the part.
struct Pixels {
  int32_t image;
  int64_t first;
  int32_t count;
};

// Writes the table of inputs of a tile: for each tap, where each of `size` pixels reads. Pixels
// past the tile's last repeat it.
void fill_table(const Conv2d& conv, Pixels pixels, int size) {
  const Conv2dParams& params = *conv.params;
  const TensorView& x = *conv.x;
  const int32_t in_rows = x.shape.dims[2];
  const int32_t in_columns = x.shape.dims[3];
  const int32_t out_columns = conv.y->shape.dims[3];
  int32_t row[kTilePixels];  // of tap 0, in the map; negative in the padding
  int32_t column[kTilePixels];
  int64_t offset[kTilePixels];  // of tap 0 in elements; meaningful where a tap is inside the map
  for (int i = 0; i < size; ++i) {
    const int64_t pixel = pixels.first + (i < pixels.count ? i : pixels.count - 1);
    const int32_t out_row = conv.rows.begin + static_cast<int32_t>(pixel / out_columns);
    const int32_t out_column = static_cast<int32_t>(pixel % out_columns);
    row[i] = out_row * params.stride_h - params.pad_top;
    column[i] = out_column * params.stride_w - params.pad_left;
    offset[i] = (row[i] - x.shape.row_begin) * x.strides[2] + column[i] * x.strides[3];
  }
  const float* image = x.as<const float>() + pixels.image * x.strides[0];
  const float** entry = conv.table;
  for (int32_t i = 0; i < conv.filter[2]; ++i) {
    for (int32_t j = 0; j < conv.filter[3]; ++j) {
      const int32_t down = i * params.dilation_h;
      const int32_t right = j * params.dilation_w;
      const int64_t tap_offset = down * x.strides[2] + right * x.strides[3];
      for (int pixel = 0; pixel < size; ++pixel) {
        // One comparison per axis: a negative position is a large unsigned one.
        const bool is_inside =
            static_cast<uint32_t>(row[pixel] + down) < static_cast<uint32_t>(in_rows) &&
            static_cast<uint32_t>(column[pixel] + right) < static_cast<uint32_t>(in_columns);
        entry[pixel] = is_inside ? image + (offset[pixel] + tap_offset) : conv.zeros;
      }
      entry += size;
    }
  }
}

// Computes one tile of pixels and `panels`.
void run_panels(const Conv2d& conv, Pixels pixels, Range panels) {
  const TensorView& y = *conv.y;
  const int32_t out_channels = y.shape.dims[1];
  const int32_t group_channels = out_channels / conv.params->groups;
  const int32_t group_panels = static_cast<int32_t>(ceil_div(group_channels, kChannelPanel));
  const int64_t taps = int64_t{conv.filter[2]} * conv.filter[3];
  const int64_t panel_elements = taps * conv.filter[1] * kChannelPanel;
  // Pixels of the part lie one behind the other in y and the residual.
  float* y_pixels = y.as<float>() + pixels.image * y.strides[0] +
                    (conv.rows.begin - y.shape.row_begin) * y.strides[2] +
                    pixels.first * y.strides[3];
  const float* residual_pixels = nullptr;
  if (conv.residual != nullptr) {
    const TensorView& residual = *conv.residual;
    residual_pixels = residual.as<const float>() + pixels.image * residual.strides[0] +
                      (conv.rows.begin - residual.shape.row_begin) * residual.strides[2] +
                      pixels.first * residual.strides[3];
  }

  int panel_count = 0;
  for (int32_t panel = panels.begin; panel < panels.end; panel += panel_count) {
    const int32_t group = panel / group_panels;
    const int32_t panel_in_group = panel % group_panels;
    const int32_t left =
        (panels.end < (group + 1) * group_panels ? panels.end : (group + 1) * group_panels) - panel;
    panel_count = left < kTilePanels ? 1 : kTilePanels;
    const int32_t channel = group * group_channels + panel_in_group * kChannelPanel;
    const int32_t last = panel_in_group + panel_count - 1;

    PanelOutput output = {&conv.activation, kChannelPanel, kChannelPanel};
    const int32_t channels_left = group_channels - last * kChannelPanel;
    if (channels_left < kChannelPanel) {
      output.valid_lanes = output.stored_lanes = channels_left;
      // The pad lanes of a pixel go with its last channel.
      if (group + 1 == conv.params->groups)
        output.stored_lanes += static_cast<int32_t>(y.strides[3]) - out_channels;
    }
    // A panel of a group that is no multiple of 16 may reach past the end of the packed bias.
    HWY_ALIGN float bias[kTilePanels * kChannelPanel];
    const float* panel_bias = conv.bias + channel;
    if (group_channels % kChannelPanel != 0) {
      for (int i = 0; i < panel_count * kChannelPanel; ++i)
        bias[i] = channel + i < out_channels ? conv.bias[channel + i] : 0.0f;
      panel_bias = bias;
    }
    const PanelTile tile = {
        .inputs = conv.table,
        .first_channel = int64_t{group} * conv.filter[1],
        .tap_count = taps,
        .depth = conv.filter[1],
        .weights = conv.weights + panel * panel_elements,
        .bias = panel_bias,
        .residual = residual_pixels == nullptr ? nullptr : residual_pixels + channel,
        .residual_stride = y.strides[3],
        .y = y_pixels + channel,
        .y_stride = y.strides[3],
        .pixel_count = pixels.count,
        .low = 0.0f,
        .high = 0.0f,
    };
    run_tile(tile, panel_count, output);
  }
}

// Tiles of about equal size, so that the last one is not a small one.
void run_block(const Conv2d& conv, int32_t image, int64_t first, int64_t end, Range panels) {
  const int tile_pixels = tile_pixels_for(conv.x->strides[3] * conv.params->stride_w);
  const int64_t tiles = ceil_div(end - first, tile_pixels);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t begin = first + (end - first) * tile / tiles;
    const int64_t next = first + (end - first) * (tile + 1) / tiles;
    const Pixels pixels = {image, begin, static_cast<int32_t>(next - begin)};
    fill_table(conv, pixels, tile_size_for(pixels.count));
    run_panels(conv, pixels, panels);
  }
}

void conv2d_f32(const KernelArgs& args) {
  const auto& params = args.params_as<Conv2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const TensorView& y = args.output();
  const Conv2dWork work = conv2d_work(params, x.shape, w.shape, y.shape, args.part_dim, args.part);
  float* zeros = reinterpret_cast<float*>(static_cast<char*>(args.scratch) + work.table_bytes);
  for (int64_t i = 0; i < x.strides[3]; ++i) zeros[i] = 0.0f;
  const Conv2d conv = {
      .params = &params,
      .x = &x,
      .y = &y,
      .residual = params.has_residual != 0 ? &args.operands[3] : nullptr,
      .filter = w.shape.dims,
      .weights = w.as<const float>(),
      .bias = args.operands[2].as<const float>(),
      .rows = work.rows,
      .activation =
          make_activation(params.activation, params.activation_alpha, params.activation_beta),
      .table = static_cast<const float**>(args.scratch),
      .zeros = zeros,
  };
  // A panel larger than the pass's share of the cache goes over the pixels alone.
  const int64_t panel_bytes = int64_t{w.shape.dims[1]} * w.shape.dims[2] * w.shape.dims[3] *
                              kChannelPanel * int64_t{sizeof(float)};
  int64_t pass_panels = kPanelPassBytes / panel_bytes;
  if (pass_panels < kTilePanels) pass_panels = kTilePanels;

  const PanelBlocks& blocks = work.blocks;
  for (int64_t task = args.task_begin; task < args.task_end; ++task) {
    const int64_t pixel_block = task % blocks.pixel_blocks;
    const int32_t image = static_cast<int32_t>(task / blocks.pixel_blocks % work.images);
    const int64_t panel_block = task / (blocks.pixel_blocks * work.images);
    const int64_t first = pixel_block * blocks.pixels_per_block;
    const int64_t end = first + blocks.pixels_per_block < work.pixels
                            ? first + blocks.pixels_per_block
                            : work.pixels;
    const int64_t panel_begin = work.panels.begin + panel_block * blocks.panels_per_block;
    const int64_t panel_end = panel_begin + blocks.panels_per_block < work.panels.end
                                  ? panel_begin + blocks.panels_per_block
                                  : work.panels.end;
    for (int64_t panel = panel_begin; panel < panel_end; panel += pass_panels) {
      const int64_t pass_end = panel + pass_panels < panel_end ? panel + pass_panels : panel_end;
      run_block(conv, image, first, end,
                {static_cast<int32_t>(panel), static_cast<int32_t>(pass_end)});
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(conv2d_f32_cpu, conv2d_f32);
}
#endif
