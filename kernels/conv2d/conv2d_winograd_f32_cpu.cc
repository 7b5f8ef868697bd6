// Computes a 2-D convolution, Nhwc, float32, by Winograd's method: winograd.h.
//
// A task is a block of tiles with a block of panels of 16 output channels:
//   1  B^T d B of the block's tiles, 16 input channels at a time, into scratch
//   2  per position, pair of panels and tile of registers: the product with the weights
//   3  A^T m A, bias, residual, activation, store
// Weights of a pair of panels at a position come from memory once per block of tiles and from the
// second-level cache for each further tile of registers. An output is the sum over input channels
// in their order, whatever the block: results are equal bit by bit.
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/conv2d/winograd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv2d/conv2d_winograd_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/gemm/panel_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

struct Winograd {
  const WinogradWork* work;
  const Conv2dParams* params;
  const TensorView* x;
  const TensorView* y;
  const TensorView* residual;  // null: none
  const float* weights;
  const float* bias;
  Activation activation;
  float* inputs;  // scratch
  float* products;
  const float* zeros;
};

struct TilePlace {
  int32_t image;
  int32_t row;  // output row of the tile's first pixel
  int32_t column;
};

TilePlace place_of(const WinogradWork& work, int32_t outputs, int64_t tile) {
  const int64_t rows = work.tile_rows.count();
  const int64_t line = tile / work.tile_columns;
  return {static_cast<int32_t>(line / rows),
          (work.tile_rows.begin + static_cast<int32_t>(line % rows)) * outputs,
          static_cast<int32_t>(tile % work.tile_columns) * outputs};
}

// An address that may not be there does no harm.
HWY_INLINE void prefetch(uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 3);
}

// ---- 1: inputs ----------------------------------------------------------------------------------

// Computes v = B^T d on one axis.
template <int kPairs>
HWY_INLINE void transform_input_line(const PanelVec (&d)[2 * kPairs + 2],
                                     PanelVec (&v)[2 * kPairs + 2]) {
  const PanelTag tag;
  constexpr const WinogradTransform<kPairs>& kT = kWinograd<kPairs>;
  PanelVec first = d[2 * kPairs];
  PanelVec last = d[2 * kPairs + 1];
#pragma GCC unroll 8
  for (int k = 0; k < kPairs; ++k) {
    const PanelVec factor = hn::Set(tag, static_cast<float>(kT.all[k]));
    first = hn::MulAdd(factor, d[2 * k], first);
    last = hn::MulAdd(factor, d[2 * k + 1], last);
  }
  v[0] = first;
  v[2 * kPairs + 1] = last;
#pragma GCC unroll 8
  for (int i = 0; i < kPairs; ++i) {
    PanelVec even = d[2 * kPairs];
    PanelVec odd = d[2 * kPairs - 1];
#pragma GCC unroll 8
    for (int k = 0; k + 1 < kPairs; ++k) {
      const PanelVec factor = hn::Set(tag, static_cast<float>(kT.others[i][k]));
      even = hn::MulAdd(factor, d[2 * k + 2], even);
      odd = hn::MulAdd(factor, d[2 * k + 1], odd);
    }
    const PanelVec point = hn::Set(tag, static_cast<float>(kT.points[i]));
    v[1 + 2 * i] = hn::MulAdd(point, odd, even);
    v[2 + 2 * i] = hn::NegMulAdd(point, odd, even);
  }
}

// One vector of channels of one tile: `pixels` are its inputs, `v` its first position. The inputs
// of the next tile, `next` bytes ahead, are on their way meanwhile: so many short rows are more
// than the processor foresees.
template <int kPairs, class Load>
HWY_INLINE void transform_input_channels(const float* const* pixels, const Load& load,
                                         uintptr_t next, float* v, int64_t stride) {
  const PanelTag tag;
  constexpr int kInputs = WinogradTransform<kPairs>::kInputs;
  HWY_ALIGN float columns[kInputs * kInputs * kPanelLanes];  // [row of B^T d][column]
#pragma GCC unroll 1
  for (int j = 0; j < kInputs; ++j) {
    PanelVec d[kInputs];
    PanelVec line[kInputs];
#pragma GCC unroll 8
    for (int i = 0; i < kInputs; ++i) {
      const float* pixel = pixels[i * kInputs + j];
      d[i] = load(pixel);
      // The earlier pixels are this tile's, too.
      if (j >= 2) prefetch(reinterpret_cast<uintptr_t>(pixel) + next);
    }
    transform_input_line<kPairs>(d, line);
#pragma GCC unroll 8
    for (int i = 0; i < kInputs; ++i)
      hn::Store(line[i], tag, columns + (i * kInputs + j) * kPanelLanes);
  }
#pragma GCC unroll 1
  for (int i = 0; i < kInputs; ++i) {
    PanelVec d[kInputs];
    PanelVec line[kInputs];
#pragma GCC unroll 8
    for (int j = 0; j < kInputs; ++j)
      d[j] = hn::Load(tag, columns + (i * kInputs + j) * kPanelLanes);
    transform_input_line<kPairs>(d, line);
#pragma GCC unroll 8
    for (int j = 0; j < kInputs; ++j) hn::Store(line[j], tag, v + (i * kInputs + j) * stride);
  }
}

template <int kPairs>
void transform_inputs(const Winograd& conv, int64_t first_tile, int64_t tile_count) {
  constexpr int kOutputs = WinogradTransform<kPairs>::kOutputs;
  constexpr int kInputs = WinogradTransform<kPairs>::kInputs;
  const PanelTag tag;
  const WinogradWork& work = *conv.work;
  const TensorView& x = *conv.x;
  const int64_t channels = padded_channels(x.shape);  // pad lanes are zero
  for (int64_t tile = 0; tile < tile_count; ++tile) {
    const TilePlace place = place_of(work, kOutputs, first_tile + tile);
    const float* image = x.as<const float>() + place.image * x.strides[0];
    const int32_t first_row = place.row - conv.params->pad_top;
    const int32_t first_column = place.column - conv.params->pad_left;
    const float* pixels[kInputs * kInputs];
    for (int i = 0; i < kInputs; ++i)
      for (int j = 0; j < kInputs; ++j) {
        const int32_t row = first_row + i;
        const int32_t column = first_column + j;
        const bool is_inside =
            static_cast<uint32_t>(row) < static_cast<uint32_t>(x.shape.dims[2]) &&
            static_cast<uint32_t>(column) < static_cast<uint32_t>(x.shape.dims[3]);
        pixels[i * kInputs + j] =
            is_inside ? image + (row - x.shape.row_begin) * x.strides[2] + column * x.strides[3]
                      : conv.zeros;
      }
    const uintptr_t next = static_cast<uintptr_t>(kOutputs * x.strides[3]) * sizeof(float);
    float* v = conv.inputs + tile * kChannelPanel;
    int64_t channel = 0;
    for (; channel + kChannelPanel <= channels; channel += kChannelPanel) {
#pragma GCC unroll 1
      for (int lane = 0; lane < kChannelPanel; lane += kPanelLanes)
        transform_input_channels<kPairs>(
            pixels, [&](const float* p) { return hn::LoadU(tag, p + channel + lane); },
            next + static_cast<uintptr_t>(channel + lane) * sizeof(float), v + lane,
            work.input_stride);
      v += work.tiles_per_block * kChannelPanel;
    }
    for (int64_t lane = 0; channel + lane < channels; lane += kPanelLanes)
      transform_input_channels<kPairs>(
          pixels,
          [&](const float* p) {
            return load_lanes(tag, p + channel + lane, channels - channel - lane);
          },
          next + static_cast<uintptr_t>(channel + lane) * sizeof(float), v + lane,
          work.input_stride);
  }
  // multiply() may take one tile more: of what lies there a number too small to be normal would
  // make its products ten times as slow.
  if (tile_count % 2 == 0) return;
  for (int position = 0; position < WinogradTransform<kPairs>::kPositions; ++position)
    for (int64_t chunk = 0; chunk < channels; chunk += kChannelPanel) {
      float* v = conv.inputs + position * work.input_stride +
                 (chunk / kChannelPanel * work.tiles_per_block + tile_count) * kChannelPanel;
      for (int lane = 0; lane < kChannelPanel; lane += kPanelLanes)
        hn::Store(hn::Zero(tag), tag, v + lane);
    }
}

// ---- 2: products --------------------------------------------------------------------------------

// Holds the inputs of neighbouring tiles at one position: 16 channels each.
struct TileInputs {
  const float* first;
  HWY_INLINE const float* operator[](int tile) const { return first + tile * kChannelPanel; }
};

// Holds the arguments of one call of the micro-kernel.
struct WinogradProduct {
  const float* inputs;   // at the first tile
  int64_t chunk_stride;  // from 16 input channels to the next
  int64_t depth;         // input channels
  const float* weights;  // [depth][16]
  int64_t panel_stride;  // distance between panels of weights
  const float* ahead;    // weights of a panel that a later call needs, or null
  float* sums;           // points at the first tile and panel
  int64_t sum_stride;    // from tile to tile; panels follow each other
};

template <int kTiles, int kPanels>
HWY_NOINLINE void multiply_tiles(const WinogradProduct& product) {
  const PanelTag d;
  constexpr int kVectors = kPanels * kPanelVectors;
  TileSums<kTiles, kPanels> sums;
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v)
#pragma GCC unroll 16
    for (int tile = 0; tile < kTiles; ++tile) sums[tile][v] = hn::Zero(d);

  const int64_t panel_stride = product.panel_stride;
  const float* weights = product.weights;
  const float* ahead = product.ahead;
  TileInputs inputs = {product.inputs};
  int64_t left = product.depth;
  for (; left >= kChannelPanel; left -= kChannelPanel) {
#pragma GCC unroll 1
    for (int channel = 0; channel < kChannelPanel; channel += 4, weights += 4 * kChannelPanel) {
      add_four_channels<kTiles, kPanels>(sums, inputs, channel, weights, panel_stride);
      if (ahead == nullptr) continue;
      for (int line = 0; line < 4; ++line) __builtin_prefetch(ahead + line * kChannelPanel, 0, 2);
      ahead += 4 * kChannelPanel;
    }
    inputs.first += product.chunk_stride;
  }
  for (int64_t channel = 0; channel < left; ++channel, weights += kChannelPanel)
    add_channel<kTiles, kPanels>(sums, inputs, channel, weights, panel_stride);

#pragma GCC unroll 16
  for (int tile = 0; tile < kTiles; ++tile)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sums[tile][v], d, product.sums + tile * product.sum_stride + v * kPanelLanes);
}

using ProductFunction = void (*)(const WinogradProduct& product);

template <int kPanels, int kTiles = kTilePixels>
ProductFunction product_function(int tiles) {
  if constexpr (kTiles == 1) {
    return multiply_tiles<1, kPanels>;
  } else if constexpr (tile_size_for(kTiles) != kTiles) {
    return product_function<kPanels, kTiles - 1>(tiles);
  } else {
    return tiles == kTiles ? multiply_tiles<kTiles, kPanels>
                           : product_function<kPanels, kTiles - 1>(tiles);
  }
}

// The weights of the next panels, or of the next position, are fetched by as many calls as there
// are panels: where weights come from memory, it takes as long as the products.
//
// Where a call computes a tile more than the block has, that is the unused last of tiles_per_block.
void multiply(const Winograd& conv, int positions, int64_t tile_count, Range panels) {
  const WinogradWork& work = *conv.work;
  const int64_t depth = conv.x->shape.dims[1];
  const int64_t position_elements = depth * kChannelPanel;
  // The sizes that tile_size_for() has are so far apart.
  constexpr int64_t kGrain = kTilePixels > 6 ? 2 : 1;
  const int64_t grains = ceil_div(tile_count, kGrain);
  const int64_t steps = ceil_div(grains * kGrain, kTilePixels);
  WinogradProduct product = {};
  product.chunk_stride = work.tiles_per_block * kChannelPanel;
  product.depth = depth;
  product.panel_stride = positions * position_elements;
  product.sum_stride = work.panels_per_block * kChannelPanel;
  for (int position = 0; position < positions; ++position) {
    int32_t panel_count = 0;
    for (int32_t panel = panels.begin; panel < panels.end; panel += panel_count) {
      panel_count = panels.end - panel < kTilePanels ? 1 : kTilePanels;
      const auto weights_of = [&](int32_t of_panel, int of_position) {
        return conv.weights + (int64_t{of_panel} * positions + of_position) * position_elements;
      };
      product.weights = weights_of(panel, position);
      const float* next = nullptr;
      if (panel + panel_count < panels.end)
        next = weights_of(panel + panel_count, position);
      else if (position + 1 < positions)
        next = weights_of(panels.begin, position + 1);
      for (int64_t step = 0; step < steps; ++step) {
        const int64_t tile = grains * step / steps * kGrain;
        const int64_t end = grains * (step + 1) / steps * kGrain;
        const int size = static_cast<int>(end - tile);
        product.inputs = conv.inputs + position * work.input_stride + tile * kChannelPanel;
        product.ahead =
            next != nullptr && step < panel_count ? next + step * product.panel_stride : nullptr;
        product.sums = conv.products + position * work.product_stride +
                       (tile * work.panels_per_block + (panel - panels.begin)) * kChannelPanel;
        ProductFunction function = product_function<1>(size);
        if constexpr (kTilePanels > 1)
          if (panel_count > 1) function = product_function<kTilePanels>(size);
        function(product);
      }
    }
  }
}

// ---- 3: outputs ---------------------------------------------------------------------------------

// Computes y = A^T m on one axis.
template <int kPairs>
HWY_INLINE void transform_output_line(const PanelVec (&m)[2 * kPairs + 2],
                                      PanelVec (&y)[2 * kPairs]) {
  const PanelTag tag;
  PanelVec even[kPairs];
  PanelVec odd[kPairs];
  double power[kPairs];
#pragma GCC unroll 8
  for (int i = 0; i < kPairs; ++i) {
    even[i] = hn::Add(m[1 + 2 * i], m[2 + 2 * i]);
    odd[i] = hn::Sub(m[1 + 2 * i], m[2 + 2 * i]);
    power[i] = 1;
  }
  y[0] = m[0];
#pragma GCC unroll 8
  for (int i = 0; i < kPairs; ++i) y[0] = hn::Add(y[0], even[i]);
#pragma GCC unroll 8
  for (int row = 1; row < 2 * kPairs; ++row) {
#pragma GCC unroll 8
    for (int i = 0; i < kPairs; ++i) {
      power[i] *= kWinograd<kPairs>.points[i];
      const PanelVec factor = hn::Set(tag, static_cast<float>(power[i]));
      const PanelVec term = row % 2 == 0 ? even[i] : odd[i];
      if (i > 0)
        y[row] = hn::MulAdd(factor, term, y[row]);
      else if (row + 1 == 2 * kPairs)
        y[row] = hn::MulAdd(factor, term, m[2 * kPairs + 1]);
      else
        y[row] = hn::Mul(factor, term);
    }
  }
}

// Finishes one panel of one tile: `m` is its product at the first position. Of the tile's outputs,
// those in `rows` and left of `columns` are stored; it begins at tile.row and tile.column.
template <int kPairs>
HWY_INLINE void finish_tile(const Winograd& conv, const float* m, const TilePlace& tile,
                            int32_t panel, const PanelLanes& lanes) {
  constexpr int kOutputs = WinogradTransform<kPairs>::kOutputs;
  constexpr int kInputs = WinogradTransform<kPairs>::kInputs;
  const PanelTag tag;
  const WinogradWork& work = *conv.work;
  const TensorView& y = *conv.y;
  const int64_t channel = int64_t{panel} * kChannelPanel;
  const bool is_whole =
      lanes.stored == kChannelPanel && lanes.valid == kChannelPanel && !conv.activation.has_curve;
  const PanelVec low = hn::Set(tag, conv.activation.low);
  const PanelVec high = hn::Set(tag, conv.activation.high);
  const int32_t column_count =
      y.shape.dims[3] - tile.column < kOutputs ? y.shape.dims[3] - tile.column : kOutputs;
  HWY_ALIGN float lines[kOutputs * kInputs * kPanelLanes];  // [row of A^T m][column]
#pragma GCC unroll 1
  for (int lane = 0; lane < kChannelPanel; lane += kPanelLanes) {
#pragma GCC unroll 1
    for (int j = 0; j < kInputs; ++j) {
      PanelVec column[kInputs];
      PanelVec line[kOutputs];
#pragma GCC unroll 8
      for (int i = 0; i < kInputs; ++i)
        column[i] = hn::Load(tag, m + lane + (i * kInputs + j) * work.product_stride);
      transform_output_line<kPairs>(column, line);
#pragma GCC unroll 8
      for (int i = 0; i < kOutputs; ++i)
        hn::Store(line[i], tag, lines + (i * kInputs + j) * kPanelLanes);
    }
    const PanelVec bias = hn::LoadU(tag, conv.bias + channel + lane);
#pragma GCC unroll 1
    for (int i = 0; i < kOutputs; ++i) {
      const int32_t row = tile.row + i;
      if (row < work.rows.begin || row >= work.rows.end) continue;
      PanelVec line[kInputs];
      PanelVec sums[kOutputs];
#pragma GCC unroll 8
      for (int j = 0; j < kInputs; ++j)
        line[j] = hn::Load(tag, lines + (i * kInputs + j) * kPanelLanes);
      transform_output_line<kPairs>(line, sums);
      float* to = y.as<float>() + tile.image * y.strides[0] +
                  (row - y.shape.row_begin) * y.strides[2] + tile.column * y.strides[3] + channel +
                  lane;
      const float* residual = nullptr;
      const int64_t residual_pixel = conv.residual != nullptr ? conv.residual->strides[3] : 0;
      if (conv.residual != nullptr)
        residual = conv.residual->as<const float>() + tile.image * conv.residual->strides[0] +
                   (row - conv.residual->shape.row_begin) * conv.residual->strides[2] +
                   tile.column * residual_pixel + channel + lane;
      const int32_t stored = lanes.stored - lane;
#pragma GCC unroll 8
      for (int j = 0; j < kOutputs; ++j) {
        if (j >= column_count) break;
        PanelVec sum = hn::Add(sums[j], bias);
        if (is_whole) {
          if (residual != nullptr)
            sum = hn::Add(sum, hn::LoadU(tag, residual + j * residual_pixel));
          hn::StoreU(limit(sum, low, high), tag, to + j * y.strides[3]);
          continue;
        }
        if (residual != nullptr)
          sum = hn::Add(sum, load_lanes(tag, residual + j * residual_pixel, stored));
        sum = activate(tag, conv.activation, sum);
        store_lanes(tag, keep_lanes(tag, sum, lanes.valid - lane), to + j * y.strides[3], stored);
      }
    }
  }
}

template <int kPairs>
void transform_outputs(const Winograd& conv, int64_t first_tile, int64_t tile_count, Range panels) {
  const WinogradWork& work = *conv.work;
  const TensorView& y = *conv.y;
  for (int64_t tile = 0; tile < tile_count; ++tile) {
    const TilePlace place = place_of(work, WinogradTransform<kPairs>::kOutputs, first_tile + tile);
    const float* m = conv.products + tile * work.panels_per_block * kChannelPanel;
    for (int32_t panel = panels.begin; panel < panels.end; ++panel, m += kChannelPanel) {
      PanelLanes lanes;
      const int32_t channels_left = y.shape.dims[1] - panel * kChannelPanel;
      if (channels_left < kChannelPanel) {
        lanes.valid = channels_left;
        // The last channel of a pixel also stores its pad lanes.
        lanes.stored = padded_channels(y.shape) - panel * kChannelPanel;
      }
      finish_tile<kPairs>(conv, m, place, panel, lanes);
    }
  }
}

template <int kPairs>
void conv2d_winograd(const KernelArgs& args) {
  using Transform = WinogradTransform<kPairs>;
  const auto& params = args.params_as<Conv2dParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const WinogradWork work =
      winograd_work(Transform::kOutputs, x.shape, y.shape, args.part_dim, args.part);
  float* scratch = static_cast<float*>(args.scratch);
  float* zeros = scratch + work.zeros_offset;
  for (int64_t i = 0; i < padded_channels(x.shape); ++i) zeros[i] = 0.0f;
  const Winograd conv = {
      .work = &work,
      .params = &params,
      .x = &x,
      .y = &y,
      .residual = params.has_residual != 0 ? &args.operands[3] : nullptr,
      .weights = args.operands[1].as<const float>(),
      .bias = args.operands[2].as<const float>(),
      .activation =
          make_activation(params.activation, params.activation_alpha, params.activation_beta),
      .inputs = scratch,
      .products = scratch + work.product_offset,
      .zeros = zeros,
  };
  // This block of tiles has its inputs transformed. Pieces of a worker's tasks follow each other,
  // mostly in one block.
  int64_t transformed = -1;
  void* const memory_of_block = scratch + work.block_offset;
  if (args.continues) std::memcpy(&transformed, memory_of_block, sizeof(transformed));
  for (int64_t task = args.task_begin; task < args.task_end; ++task) {
    const int64_t block = task / work.panel_blocks;
    const int64_t first = block * work.tiles_per_block;
    const int64_t count =
        work.tiles - first < work.tiles_per_block ? work.tiles - first : work.tiles_per_block;
    if (block != transformed) transform_inputs<kPairs>(conv, first, count);
    transformed = block;
    const int64_t panel = work.panels.begin + task % work.panel_blocks * work.panels_per_block;
    const int64_t panel_end = panel + work.panels_per_block < work.panels.end
                                  ? panel + work.panels_per_block
                                  : work.panels.end;
    const Range panels = {static_cast<int32_t>(panel), static_cast<int32_t>(panel_end)};
    multiply(conv, Transform::kPositions, count, panels);
    transform_outputs<kPairs>(conv, first, count, panels);
  }
  std::memcpy(memory_of_block, &transformed, sizeof(transformed));
}

void conv2d_winograd2(const KernelArgs& args) { conv2d_winograd<1>(args); }
void conv2d_winograd4(const KernelArgs& args) { conv2d_winograd<2>(args); }

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(conv2d_winograd2_f32_cpu, conv2d_winograd2);
CODL_CPU_KERNEL(conv2d_winograd4_f32_cpu, conv2d_winograd4);
}  // namespace codl::kernels
#endif
