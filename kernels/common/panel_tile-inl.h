// The micro-kernel of Conv2d and MatMul: a tile of output pixels x panels of 16 output channels,
// held in registers over the whole reduction. Highway code, compiled once per target.
//
// Why registers over the whole reduction, and no blocking of it: a panel streams from the second
// level cache at 4 * kPanelTilePanels bytes per multiply-add cycle or less, which every processor
// in use can deliver, so there is no partial sum to store. It also fixes the order of additions
// into an output element (bias, then taps in order, in each its input channels in order, then the
// residual) whatever the tile, the task or the part: results are equal bit by bit.
//
// Why pointers per (tap, pixel), and no copy of the input ("im2col"): the table costs one entry per
// tap, pixel and tile, against input channels times panels multiply-adds; padding is a pointer to a
// row of zeros. Source: Dukhan, "The Indirect Convolution Algorithm", arXiv:1907.02129.
#if defined(CODL_KERNELS_COMMON_PANEL_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_PANEL_TILE_INL_H
#undef CODL_KERNELS_COMMON_PANEL_TILE_INL_H
#else
#define CODL_KERNELS_COMMON_PANEL_TILE_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/activation-inl.h"
#include "kernels/common/lanes-inl.h"
#include "kernels/common/panel_tile.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// Names have external linkage within the target's namespace: the kernels that include this file
// share one copy of the machine code.
using PanelTag = hwy::HWY_NAMESPACE::CappedTag<float, kChannelPanel>;
using PanelVec = hwy::HWY_NAMESPACE::Vec<PanelTag>;
constexpr int kPanelLanes = static_cast<int>(hwy::HWY_NAMESPACE::MaxLanes(PanelTag{}));
constexpr int kPanelVectors = kChannelPanel / kPanelLanes;

// The largest tile. Sums fill the registers, less those of one step's weights and inputs:
//   AVX3    32 registers: 14 x 2 panels = 28 sums, 2 weights, 1 input; 14 divides 56, 28 and 14
//   AVX2    16: 6 x 1 panel = 12, 2, 1
//   NEON    32: 4 x 1 panel = 16, 4 to 8, 4 (a register holds four inputs of a pixel); with 5 x 1
//   GCC
//           12 runs out of registers
//   scalar  one pixel; it is there to be right
#if HWY_TARGET == HWY_AVX3
constexpr int kTilePixels = 14;
constexpr int kTilePanels = 2;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTilePixels = 6;
constexpr int kTilePanels = 1;
#elif HWY_TARGET == HWY_NEON
constexpr int kTilePixels = 4;
constexpr int kTilePanels = 1;
#else
constexpr int kTilePixels = 1;
constexpr int kTilePanels = 1;
#endif
static_assert(kTilePixels <= kPanelTileMaxPixels && kTilePanels <= kPanelTileMaxPanels);

// Pixels of a tile whose inputs are `stride` elements apart. At multiples of 4096 bytes they all
// fall into one set of a first-level cache (64 sets of 64 bytes on every x86 in use, of 8 lines or
// more), where 14 of them push each other out: 6, with two streams of weights, stay.
constexpr int tile_pixels_for(int64_t stride) {
  return kTilePixels > 6 && stride % 1024 == 0 ? 6 : kTilePixels;
}

// One call of the micro-kernel.
struct PanelTile {
  // inputs[tap * pixels + pixel]: where the pixel's channels of that tap are; `pixels` is the
  // template argument, surplus pixels (see pixel_count) repeat a valid pointer.
  const float* const* inputs;
  int64_t first_channel;  // added to every pointer: the group's first input channel
  int64_t tap_count;
  int64_t depth;            // input channels of a tap
  const float* weights;     // [panels][tap_count][depth][16]
  const float* bias;        // [panels][16]
  const float* residual;    // of the first pixel and channel, or null
  int64_t residual_stride;  // elements from pixel to pixel
  float* y;
  int64_t y_stride;
  int32_t pixel_count;  // pixels stored: the template argument, or one less
  float low;            // limits of the activation
  float high;
};

// The sums of a tile. Loops over them are unrolled, so that they are registers.
template <int kPixels, int kPanels>
using TileSums = PanelVec[kPixels][kPanels * kPanelVectors];

// sums += input * weights for one input channel; `weights` is the first panel's 16 at it.
template <int kPixels, int kPanels>
HWY_INLINE void add_channel(TileSums<kPixels, kPanels>& sums, const float* const* inputs,
                            int64_t channel, const float* weights, int64_t panel_elements) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  PanelVec w[kPanels * kPanelVectors];
#pragma GCC unroll 2
  for (int panel = 0; panel < kPanels; ++panel)
#pragma GCC unroll 16
    for (int v = 0; v < kPanelVectors; ++v)
      w[panel * kPanelVectors + v] =
          hn::LoadU(d, weights + panel * panel_elements + v * kPanelLanes);
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    const PanelVec x = hn::Set(d, inputs[pixel][channel]);
#pragma GCC unroll 16
    for (int v = 0; v < kPanels * kPanelVectors; ++v)
      sums[pixel][v] = hn::MulAdd(x, w[v], sums[pixel][v]);
  }
}

#if HWY_TARGET == HWY_NEON
// Four input channels of a pixel in one register: NEON multiplies by a lane of it, and a load that
// fills a register with one value would take a slot of the pipe that multiplies.
template <int kLane, int kPixels, int kPanels>
HWY_INLINE void add_lane(TileSums<kPixels, kPanels>& sums, const float32x4_t* x,
                         const float* weights) {
  static_assert(kPanels == 1);
#pragma GCC unroll 4
  for (int v = 0; v < kPanelVectors; ++v) {
    const float32x4_t w = vld1q_f32(weights + kLane * kChannelPanel + v * kPanelLanes);
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel)
      sums[pixel][v].raw = vfmaq_laneq_f32(sums[pixel][v].raw, w, x[pixel], kLane);
  }
}
#endif

// Four input channels from `channel` on.
template <int kPixels, int kPanels>
HWY_INLINE void add_four_channels(TileSums<kPixels, kPanels>& sums, const float* const* inputs,
                                  int64_t channel, const float* weights, int64_t panel_elements) {
#if HWY_TARGET == HWY_NEON
  static_cast<void>(panel_elements);
  float32x4_t x[kPixels];
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel) x[pixel] = vld1q_f32(inputs[pixel] + channel);
  add_lane<0, kPixels, kPanels>(sums, x, weights);
  add_lane<1, kPixels, kPanels>(sums, x, weights);
  add_lane<2, kPixels, kPanels>(sums, x, weights);
  add_lane<3, kPixels, kPanels>(sums, x, weights);
#else
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    add_channel<kPixels, kPanels>(sums, inputs, channel + i, weights + i * kChannelPanel,
                                  panel_elements);
#endif
}

template <int kPixels, int kPanels>
HWY_NOINLINE void compute_tile(const PanelTile& tile) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  constexpr int kVectors = kPanels * kPanelVectors;
  TileSums<kPixels, kPanels> sums;
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const PanelVec bias = hn::LoadU(d, tile.bias + v * kPanelLanes);
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel) sums[pixel][v] = bias;
  }

  const int64_t panel_elements = tile.tap_count * tile.depth * kChannelPanel;
  const float* weights = tile.weights;
  const float* const* inputs = tile.inputs;
  for (int64_t tap = 0; tap < tile.tap_count; ++tap, inputs += kPixels) {
    int64_t channel = tile.first_channel;
    const int64_t end = channel + tile.depth;
    for (; channel + 4 <= end; channel += 4, weights += 4 * kChannelPanel)
      add_four_channels<kPixels, kPanels>(sums, inputs, channel, weights, panel_elements);
    for (; channel < end; ++channel, weights += kChannelPanel)
      add_channel<kPixels, kPanels>(sums, inputs, channel, weights, panel_elements);
  }

  if (tile.residual != nullptr) {
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      if (pixel >= tile.pixel_count) break;
      const float* residual = tile.residual + pixel * tile.residual_stride;
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v)
        sums[pixel][v] = hn::Add(sums[pixel][v], hn::LoadU(d, residual + v * kPanelLanes));
    }
  }
  const PanelVec low = hn::Set(d, tile.low);
  const PanelVec high = hn::Set(d, tile.high);
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    if (pixel >= tile.pixel_count) break;
    float* y = tile.y + pixel * tile.y_stride;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(limit(sums[pixel][v], low, high), d, y + v * kPanelLanes);
  }
}

using TileFunction = void (*)(const PanelTile& tile);

// Tiles are of 1, 2, 4, 6 ... pixels on AVX3, where each size is a kilobyte of code, and of every
// size up to the largest elsewhere.
constexpr int tile_size_for(int pixel_count) {
  return kTilePixels > 6 && pixel_count > 1 ? (pixel_count + 1) / 2 * 2 : pixel_count;
}

// `pixels` is a value of tile_size_for().
template <int kPanels, int kPixels = kTilePixels>
TileFunction tile_function(int pixels) {
  if constexpr (kPixels == 1) {
    return compute_tile<1, kPanels>;
  } else if constexpr (tile_size_for(kPixels) != kPixels) {
    return tile_function<kPanels, kPixels - 1>(pixels);
  } else {
    return pixels == kPixels ? compute_tile<kPixels, kPanels>
                             : tile_function<kPanels, kPixels - 1>(pixels);
  }
}

// What a row of output panels needs besides the tile: the general ending.
struct PanelOutput {
  const Activation* activation;
  int32_t valid_lanes;  // channels of the panel
  // Lanes of memory written: those, and the pixel's pad lanes if it is the last panel. Up to 18: of
  // three groups of 15 channels the last panel has 15 lanes and the pixel 3 of padding.
  int32_t stored_lanes;
};

// Ends the sums of one panel that compute_tile() cannot end: a panel with fewer than 16 lanes, or
// an activation with a curve. `sums` has bias and products, `sum_stride` elements from pixel to
// pixel.
inline HWY_NOINLINE void finish_panel(const PanelOutput& output, const float* sums,
                                      int64_t sum_stride, const float* residual,
                                      int64_t residual_stride, float* y, int64_t y_stride,
                                      int32_t pixel_count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  for (int32_t pixel = 0; pixel < pixel_count; ++pixel) {
    for (int32_t lane = 0; lane < output.stored_lanes; lane += kPanelLanes) {
      const int32_t count = output.stored_lanes - lane;
      PanelVec sum = lane < kChannelPanel ? hn::LoadU(d, sums + lane) : hn::Zero(d);
      if (residual != nullptr) sum = hn::Add(sum, load_lanes(d, residual + lane, count));
      sum = activate(d, *output.activation, sum);
      store_lanes(d, keep_lanes(d, sum, output.valid_lanes - lane), y + lane, count);
    }
    sums += sum_stride;
    if (residual != nullptr) residual += residual_stride;
    y += y_stride;
  }
}

// `panel_count` panels (1 to kTilePanels), the last with `output`'s lanes, the others whole, for a
// tile of tile_size_for(tile.pixel_count) pixels. tile.low and tile.high are set here.
HWY_INLINE void run_tile(PanelTile tile, int panel_count, const PanelOutput& output) {
  const int size = tile_size_for(tile.pixel_count);
  const Activation& activation = *output.activation;
  TileFunction compute = tile_function<1>(size);
  if constexpr (kTilePanels > 1)
    if (panel_count > 1) compute = tile_function<kTilePanels>(size);
  if (output.stored_lanes == kChannelPanel && output.valid_lanes == kChannelPanel &&
      !activation.has_curve) {
    tile.low = activation.low;
    tile.high = activation.high;
    return compute(tile);
  }

  HWY_ALIGN float sums[kTilePixels * kTilePanels * kChannelPanel];
  constexpr int64_t kSumStride = kTilePanels * kChannelPanel;
  PanelTile raw = tile;
  raw.residual = nullptr;
  raw.y = sums;
  raw.y_stride = kSumStride;
  raw.low = -__builtin_inff();
  raw.high = __builtin_inff();
  compute(raw);
  for (int panel = 0; panel < panel_count; ++panel) {
    const int offset = panel * kChannelPanel;
    PanelOutput lanes = output;
    if (panel + 1 < panel_count) lanes.valid_lanes = lanes.stored_lanes = kChannelPanel;
    finish_panel(lanes, sums + offset, kSumStride,
                 tile.residual == nullptr ? nullptr : tile.residual + offset, tile.residual_stride,
                 tile.y + offset, tile.y_stride, tile.pixel_count);
  }
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_PANEL_TILE_INL_H
