// The direct convolution, Nhwc: tiles of output pixels x panels of output channels
// (common/gemm/panel_tile-inl.h has the micro-kernel and the reasons). This is Highway code,
// compiled once per target.
//
// Tasks are taken by rectangles of pixels (of all images, flattened over rows) and panels. Panels
// are passed over in groups that stay in the second-level cache; within a pass, tiles of pixels
// come outermost and panels innermost, so that the inputs of a tile serve every panel of the pass.
//
// Where most taps lie in the padding (dilated filters), tiles are cut where the set of taps inside
// the map changes, and the others are left out. Every pixel then adds exactly its taps inside,
// however the work is cut. That is the sum over all taps but for weights that are not finite, and
// but for the sign of a sum that is zero.
//
// Few output channels of floats are computed as dot products (conv2d_dots-inl.h), if that takes
// less time.
#if defined(CODL_KERNELS_CONV2D_CONV2D_DIRECT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_CONV2D_CONV2D_DIRECT_INL_H
#undef CODL_KERNELS_CONV2D_CONV2D_DIRECT_INL_H
#else
#define CODL_KERNELS_CONV2D_CONV2D_DIRECT_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/gemm/panel_tile-inl.h"
#include "kernels/conv2d/conv2d_dots-inl.h"
#include "kernels/conv2d/conv2d_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// Computes one tile of pixels and `panels`.
template <class Sums, class T>
void run_panels(const Conv2d<T>& conv, const TilePixels& pixels,
                const TileFunctions<Sums>& functions, Range panels) {
  const TensorView& y = *conv.y;
  const int32_t out_channels = y.shape.dims[1];
  const int32_t group_channels = conv.group_channels;
  const int32_t group_panels = conv.group_panels;
  const int size = Sums::kSize.size_for(pixels.count);
  const TileInputs inputs = inputs_of(conv, pixels, size);

  // The part's pixels follow each other in y and the residual.
  using Pointer = typename PanelPointer<T>::Type;
  const Pointer y_pixels =
      PanelPointer<T>::of(y) +
      (pixels.image * y.strides[0] + (conv.rows.begin - y.shape.row_begin) * y.strides[2] +
       pixels.first * y.strides[3]);
  PanelOutput<T> output = {.activation = &conv.activation,
                           .y = {},
                           .y_stride = y.strides[3],
                           .lanes = {},
                           .scales = conv.scales};
  Pointer residual_pixels = {};
  if (conv.residual != nullptr) {
    const TensorView& residual = *conv.residual;
    output.residual_stride = residual.strides[3];
    residual_pixels = PanelPointer<T>::of(residual) +
                      (pixels.image * residual.strides[0] +
                       (conv.rows.begin - residual.shape.row_begin) * residual.strides[2] +
                       pixels.first * output.residual_stride);
  }
  PanelTile<T> tile = {
      .inputs = conv.table,
      .tap_step = inputs.tap_step,
      .taps = inputs.taps,
      .tap_count = inputs.tap_count,
      .depth = conv.depth,
      .panel_elements = conv.panel_elements,
      .weights = nullptr,
      .bias = nullptr,
      .ahead = 0,
      .pixel_count = pixels.count,
  };

  int panel_count = 0;
  int32_t group = conv.params->groups == 1 ? 0 : panels.begin / group_panels;
  int32_t panel_in_group = panels.begin - group * group_panels;
  for (int32_t panel = panels.begin; panel < panels.end; panel += panel_count) {
    int32_t left = group_panels - panel_in_group;
    if (left > panels.end - panel) left = panels.end - panel;
    panel_count = left < Sums::kSize.panels ? 1 : Sums::kSize.panels;
    const int32_t channel = group * group_channels + panel_in_group * kChannelPanel;

    output.lanes = {};
    const int32_t channels_left =
        group_channels - (panel_in_group + panel_count - 1) * kChannelPanel;
    if (channels_left < kChannelPanel) {
      output.lanes = {channels_left, channels_left};
      // The last channel of a pixel also stores its pad lanes.
      if (group + 1 == conv.params->groups)
        output.lanes.stored += padded_channels(y.shape) - out_channels;
    }
    // A panel of a group that is no multiple of 16 may reach past the end of the packed bias.
    HWY_ALIGN float bias[Sums::kSize.panels * kChannelPanel];
    tile.bias = conv.bias + channel;
    if (group_channels % kChannelPanel != 0) {
      for (int i = 0; i < panel_count * kChannelPanel; ++i)
        bias[i] = channel + i < out_channels ? conv.bias[channel + i] : 0.0f;
      tile.bias = bias;
    }
    if (panel == panels.begin || panel_in_group == 0) {
      tile.first_channel = group * conv.depth;
      sum_inputs(&tile, size);
    }
    tile.weights = conv.weights + panel * conv.panel_elements;
    tile.ahead =
        ahead_of(tile.weights, panel_count, conv.panel_elements, conv.pass_panels, pixels.number);
    if (conv.residual != nullptr) output.residual = residual_pixels + channel;
    output.y = y_pixels + channel;
    output.panel = panel - conv.first_panel;
    run_tile(tile, functions, panel_count, output);

    panel_in_group += panel_count;
    if (panel_in_group == group_panels) {
      panel_in_group = 0;
      ++group;
    }
  }
}

// Cuts pixels into tiles of about equal size, so that the last one is not a small one. `number` is
// that of the next tile.
template <class Sums, class T>
void run_pixels(const Conv2d<T>& conv, int32_t image, PixelRange range, Range panels,
                int64_t* number) {
  const int most_pixels = Sums::kSize.most_pixels(conv.group_channels);
  const int tile_pixels =
      conv.copies != nullptr
          ? most_pixels
          : Sums::kSize.pixels_for(conv.x->strides[3] * conv.params->stride_w * int64_t{sizeof(T)},
                                   most_pixels);
  const int64_t tiles = ceil_div(range.end - range.begin, tile_pixels);
  // So many tiles have one pixel more than the others.
  const int64_t longer_tiles = (range.end - range.begin) % tiles;
  const int32_t out_columns = conv.y->shape.dims[3];
  TilePixels pixels = {
      .image = image,
      .first = range.begin,
      .row = conv.rows.begin + static_cast<int32_t>(range.begin) / out_columns,
      .column = static_cast<int32_t>(range.begin) % out_columns,
      .count = static_cast<int32_t>((range.end - range.begin) / tiles) + (longer_tiles > 0 ? 1 : 0),
      .number = *number,
  };
  TileFunctions<Sums> functions(pixels.count, conv.group_channels);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    if (tile > 0 && tile == longer_tiles)
      functions = TileFunctions<Sums>(--pixels.count, conv.group_channels);
    run_panels(conv, pixels, functions, panels);
    pixels.first += pixels.count;
    ++pixels.number;
    for (pixels.column += pixels.count; pixels.column >= out_columns; ++pixels.row)
      pixels.column -= out_columns;
  }
  *number = pixels.number;
}

// Copies `count` columns of a row of the map, `channels` lanes of each; zeros where it has none.
HWY_NOINLINE void copy_columns(const Conv2d<float>& conv, int32_t image, int64_t row,
                               int64_t column, int64_t count, int64_t channels, float* to) {
  const TensorView& x = *conv.x;
  const bool is_row_inside = row >= 0 && row < x.shape.dims[2];
  const float* from = x.as<const float>() + image * x.strides[0] +
                      (row - x.shape.row_begin) * x.strides[2] + column * x.strides[3];
  for (int64_t i = 0; i < count; ++i, from += x.strides[3], to += channels) {
    const bool is_inside = is_row_inside && column + i >= 0 && column + i < x.shape.dims[3];
#pragma GCC unroll 1
    for (int64_t channel = 0; channel < channels; ++channel)
      to[channel] = is_inside ? from[channel] : 0.0f;
  }
}

// Points to the runs of one output pixel: inputs[run * stride] = where the run is, in the map, in
// zeros or in a copy.
HWY_NOINLINE void point_at_runs(const Conv2d<float>& conv, int32_t image, int32_t out_row,
                                int32_t out_column, int64_t pixel, int64_t stride,
                                const float** inputs) {
  const Conv2dDots& dots = *conv.dots;
  const TensorView& x = *conv.x;
  const int64_t row_runs = dots.runs / conv.vertical.taps;
  const int64_t run_columns = dots.run / dots.depth;
  const int64_t first_row = int64_t{out_row} * conv.vertical.stride - conv.vertical.pad_begin;
  const int64_t first_column =
      int64_t{out_column} * conv.horizontal.stride - conv.horizontal.pad_begin;
  float* copy = conv.dot_copies + pixel * dots.runs * dots.run;
  for (int32_t i = 0; i < conv.vertical.taps; ++i) {
    const int64_t row = first_row + int64_t{i} * conv.vertical.dilation;
    const bool is_row_inside = row >= 0 && row < x.shape.dims[2];
    for (int64_t j = 0; j < row_runs; ++j, inputs += stride, copy += dots.run) {
      const int64_t column = first_column + j * conv.horizontal.dilation;
      if (!is_row_inside) {
        *inputs = conv.dot_zeros;
      } else if (column >= 0 && column + run_columns <= x.shape.dims[3]) {
        *inputs = x.as<const float>() + image * x.strides[0] +
                  (row - x.shape.row_begin) * x.strides[2] + column * x.strides[3];
      } else {
        copy_columns(conv, image, row, column, run_columns, dots.depth, copy);
        *inputs = copy;
      }
    }
  }
}

// Computes the pixels of `range`, flattened over the rows of the part, of one image. Scalar code
// has no dots.
[[maybe_unused]] void run_dots(const Conv2d<float>& conv, int32_t image, PixelRange range) {
  const Conv2dDots& dots = *conv.dots;
  const TensorView& y = *conv.y;
  const int32_t out_channels = y.shape.dims[1];
  const int32_t out_columns = y.shape.dims[3];
  const int64_t pixel_stride = y.strides[3];
  const int32_t stored = padded_channels(y.shape);
  const int tile_pixels = dot_pixels_for(dots_for(out_channels));
  const DotFunction compute = dot_function(dots_for(out_channels));
  // Zeros behind the channels: an activation computes whole vectors, and is slow where a lane
  // happens to hold a subnormal number.
  HWY_ALIGN float sums[kMaxDotPixels * kChannelPanel] = {};
  const DotTile tile = {conv.table, dots.runs, dots.run, conv.dot_weights, conv.bias, sums};
  PanelOutput<float> output = {
      .activation = &conv.activation,
      .y = y.as<float>() + image * y.strides[0] +
           (conv.rows.begin - y.shape.row_begin) * y.strides[2] + range.begin * pixel_stride,
      .y_stride = pixel_stride,
      .lanes = {out_channels, stored},
  };
  if (conv.residual != nullptr) {
    const TensorView& residual = *conv.residual;
    output.residual_stride = residual.strides[3];
    output.residual = residual.as<const float>() + image * residual.strides[0] +
                      (conv.rows.begin - residual.shape.row_begin) * residual.strides[2] +
                      range.begin * output.residual_stride;
  }

  int32_t row = conv.rows.begin + static_cast<int32_t>(range.begin / out_columns);
  auto column = static_cast<int32_t>(range.begin % out_columns);
  int32_t count = 0;
  for (int64_t pixel = range.begin; pixel < range.end; pixel += count) {
    count = range.end - pixel < tile_pixels ? static_cast<int32_t>(range.end - pixel) : tile_pixels;
    for (int i = 0; i < tile_pixels; ++i) {
      // Surplus pixels repeat the last one.
      if (i >= count) {
        for (int64_t run = 0; run < dots.runs; ++run)
          conv.table[run * tile_pixels + i] = conv.table[run * tile_pixels + count - 1];
        continue;
      }
      point_at_runs(conv, image, row, column, i, tile_pixels, conv.table + i);
      if (++column == out_columns) {
        column = 0;
        ++row;
      }
    }
    compute(tile);
    finish_panel(output, sums, kChannelPanel, count);
    output.y += count * pixel_stride;
    if (output.residual != nullptr) output.residual += count * output.residual_stride;
  }
}

// Computes all pixels of the rectangle with `panels`.
template <class Sums, class T>
void run_pass(const Conv2d<T>& conv, const Conv2dWork& work, const PanelRectangle& rectangle,
              Range panels) {
  const int64_t out_columns = conv.y->shape.dims[3];
  const int64_t first_image = rectangle.block_begin / work.blocks.pixel_blocks;
  int64_t number = 0;
  for (int64_t image = first_image; image * work.blocks.pixel_blocks < rectangle.block_end;
       ++image) {
    const PixelRange range = pixels_of(rectangle, work.blocks, work.pixels, image);
    PixelRange piece = range;
    if constexpr (kPanelLanes > 1 && std::is_same_v<T, float>)
      if (conv.dots != nullptr) {
        if (range.begin < range.end) run_dots(conv, static_cast<int32_t>(image), range);
        continue;
      }
    for (; piece.begin < range.end; piece.begin = piece.end) {
      piece.end = range.end;
      if (conv.skips_padding) {
        const int64_t row = piece.begin / out_columns;
        const int32_t column = static_cast<int32_t>(piece.begin % out_columns);
        const int64_t end =
            row * out_columns + end_of_segment(conv.horizontal, conv.x->shape.dims[3],
                                               static_cast<int32_t>(out_columns), column);
        if (end < piece.end) piece.end = end;
      }
      run_pixels<Sums>(conv, static_cast<int32_t>(image), piece, panels, &number);
    }
  }
}

template <class T>
constexpr int64_t panel_elements_of(const OperandShape& w) {
  const int64_t taps = int64_t{w.dims[2]} * w.dims[3];
  return std::is_same_v<T, int8_t> ? byte_panel_bytes(taps, w.dims[1])
                                   : taps * w.dims[1] * kChannelPanel;
}

template <class Sums>
void conv2d_direct(const KernelArgs& args, const ByteScales* scales = nullptr) {
  using T = typename Sums::Element;
  const auto& params = args.params_as<Conv2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& w = args.operands[1];
  const TensorView& y = args.output();
  const Conv2dWork work = conv2d_work(params, x.shape, w.shape, y.shape, args.part_dim, args.part);
  char* scratch = static_cast<char*>(args.scratch);
  char* taps = scratch + work.table_bytes;
  char* zeros = taps + 2 * work.taps_bytes;
  Conv2d<T> conv = {
      .params = &params,
      .x = &x,
      .y = &y,
      .residual = params.has_residual != 0 ? &args.operands[3] : nullptr,
      .vertical = vertical_axis(params, w.shape.dims),
      .horizontal = horizontal_axis(params, w.shape.dims),
      .depth = std::is_same_v<T, int8_t> && params.groups == 1 ? padded_channels(x.shape)
                                                               : w.shape.dims[1],
      .group_channels = y.shape.dims[1] / params.groups,
      .group_panels =
          static_cast<int32_t>(ceil_div(y.shape.dims[1] / params.groups, kChannelPanel)),
      .panel_elements = panel_elements_of<T>(w.shape),
      .weights = w.as<const T>(),
      .bias = args.operands[2].as<const float>(),
      .scales = scales,
      .first_panel = work.panels.begin,
      .rows = work.rows,
      .activation =
          make_activation(params.activation, params.activation_alpha, params.activation_beta),
      .skips_padding =
          x.shape.zero_point == 0 && conv2d_computed_share(params, x.shape, w.shape, y.shape) < 1,
      .pass_panels = 0,
      .table = reinterpret_cast<const T**>(scratch),
      .taps = reinterpret_cast<PanelTap*>(taps),
      .tile_taps = reinterpret_cast<PanelTap*>(taps + work.taps_bytes),
      .zeros = reinterpret_cast<T*>(zeros),
      .copy_stride = work.copy_stride,
      .copies = nullptr,
      .dots = nullptr,
      .dot_weights = reinterpret_cast<float*>(scratch + work.dots_offset),
      .dot_zeros = nullptr,
      .dot_copies = nullptr,
  };
  if constexpr (std::is_same_v<T, float>)
    if (takes_dots(work.dots, y.shape.dims[1],
                   int64_t{w.shape.dims[2]} * w.shape.dims[3] * conv.depth)) {
      conv.dots = &work.dots;
      conv.dot_zeros = conv.dot_weights + work.dots.weight_elements;
      conv.dot_copies = conv.dot_zeros + work.dots.zero_elements;
      if (!args.continues) {
        pack_dots(work.dots, conv.weights, conv.depth, y.shape.dims[1], conv.dot_weights);
        for (int64_t i = 0; i < work.dots.zero_elements; ++i) conv.dot_zeros[i] = 0.0f;
      }
    }
  // A tile of 6 pixels has no need of copies.
  if (work.has_copies && Sums::kSize.pixels > 6)
    conv.copies = reinterpret_cast<T*>(zeros + work.zeros_bytes);
  conv.pass_panels =
      Sums::kSize.pass_panels(conv.panel_elements * int64_t{sizeof(T)}, Sums::kSize.panels);
  __builtin_memset(zeros, x.shape.zero_point, work.zeros_bytes);
  const int64_t tap_elements =
      (std::is_same_v<T, int8_t> ? round_up(conv.depth, int64_t{kQuadInputs}) : conv.depth) *
      kChannelPanel;
  for (int32_t i = 0; i < conv.vertical.taps; ++i)
    for (int32_t j = 0; j < conv.horizontal.taps; ++j) {
      const int64_t tap = i * conv.horizontal.taps + j;
      const int64_t weight_offset = tap * tap_elements;
      conv.taps[tap] = {int64_t{i} * conv.vertical.dilation * x.strides[2] +
                            int64_t{j} * conv.horizontal.dilation * x.strides[3],
                        weight_offset};
      conv.tile_taps[tap] = {0, weight_offset};
    }

  for (int64_t task = args.task_begin; task < args.task_end;) {
    const PanelRectangle rectangle =
        take_rectangle(work.blocks, work.images, work.panels, args.task_end, &task);
    Range pass = rectangle.panels;
    for (; pass.begin < rectangle.panels.end; pass.begin = pass.end) {
      pass.end = rectangle.panels.end - pass.begin > conv.pass_panels
                     ? pass.begin + static_cast<int32_t>(conv.pass_panels)
                     : rectangle.panels.end;
      run_pass<Sums>(conv, work, rectangle, pass);
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_CONV2D_CONV2D_DIRECT_INL_H
