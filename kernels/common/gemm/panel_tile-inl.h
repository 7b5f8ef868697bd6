// Holds the micro-kernel of Conv2d and MatMul. It keeps a tile of output pixels x panels of 16
// output channels in registers over the whole reduction. This is Highway code, compiled once per
// target.
//
// Why registers over the whole reduction, and no blocking of it: a panel streams from the second
// level cache at 4 * kPanelTilePanels bytes per multiply-add cycle or less, which every processor
// in use can deliver, so there is no partial sum to store. It also fixes the order of additions
// into an output element (taps in order, in each its input channels in order, then the bias, then
// the residual; see below where the bias is first) whatever the tile, the task or the part: results
// are equal bit by bit.
//
// Why the bias last: where it is large beside the products, as of a folded normalisation, a sum
// that began with it would round every product at the bias's size. Sums of 384 products of a
// trained network were off by 4e-7 of their size, with the bias last by 8e-8. In sums of kShortSum
// products it is the first: there is little to lose, and an addition would take up to 4 % more
// time.
//
// Why pointers to pixels, and no copy of the input ("im2col"): where every tap of every pixel lies
// inside the map, the taps of a tile are one set of pointers at different offsets; elsewhere there
// is a set for each tap, and padding is a pointer to a row of zeros. Source: Dukhan, "The Indirect
// Convolution Algorithm", arXiv:1907.02129.
#if defined(CODL_KERNELS_COMMON_PANEL_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_PANEL_TILE_INL_H
#undef CODL_KERNELS_COMMON_PANEL_TILE_INL_H
#else
#define CODL_KERNELS_COMMON_PANEL_TILE_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "kernels/common/gemm/panel_tile.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// Names have external linkage within the target's namespace: the kernels that include this file
// share one copy of the machine code.
using PanelTag = hwy::HWY_NAMESPACE::CappedTag<float, kChannelPanel>;
using PanelVec = hwy::HWY_NAMESPACE::Vec<PanelTag>;
constexpr int kPanelLanes = static_cast<int>(hwy::HWY_NAMESPACE::MaxLanes(PanelTag{}));
constexpr int kPanelVectors = kChannelPanel / kPanelLanes;

// The tiles of this target's vectors: panel_tile.h has what follows from them.
constexpr PanelTileSize kTileSize = panel_tile_size(kPanelLanes);
constexpr int kTilePixels = kTileSize.pixels;
constexpr int kTilePanels = kTileSize.panels;
constexpr int kRowPanels = kTileSize.row_panels;
constexpr int last_panel_vectors(int64_t channels) {
  return kTileSize.last_lanes(channels) / kPanelLanes;
}
constexpr int tile_pixels_of(int vectors) {
  return kTileSize.pixels_of_lanes(vectors * kPanelLanes);
}
constexpr int tile_pixels_of_channels(int64_t channels) { return kTileSize.most_pixels(channels); }
// This is the largest of all targets.
constexpr int kMaxTilePixels = kPanelLanes > 1 ? tile_pixels_of(1) : kTilePixels;
static_assert(kMaxTilePixels <= kPanelTileMaxPixels && kTilePanels <= kPanelTileMaxPanels);
constexpr int tile_pixels_for(int64_t stride, int most_pixels = kTilePixels) {
  return kTileSize.pixels_for(stride * int64_t{sizeof(float)}, most_pixels);
}

// A matrix product has this list of taps.
inline constexpr PanelTap kOneTap = {0, 0};

// Holds the arguments of one call of the micro-kernel.
struct PanelTile {
  // inputs[tap * tap_step + pixel] points to the pixel's channels of that tap, less the offset of
  // the tap. `tap_step` is 0, or the template argument. There are as many pixels as the template
  // argument says; surplus ones (see pixel_count) repeat a valid pointer.
  const float* const* inputs;
  int64_t tap_step = 0;
  const PanelTap* taps = &kOneTap;
  int64_t tap_count = 1;
  int64_t first_channel = 0;  // is added to every pointer: the group's first input channel
  int64_t depth;              // input channels of a tap
  int64_t panel_elements;     // weights of a panel
  const float* weights;       // [panels][taps][depth][16]
  const float* bias;          // [panels][16]
  // Address of weights to be needed later: some are brought into the second-level cache meanwhile,
  // from here on, kAheadBytes per four channels of a tap. Behind the weights is harmless.
  uintptr_t ahead;
  const float* residual = nullptr;  // points at the first pixel and channel, or is null
  int64_t residual_stride = 0;      // elements from pixel to pixel
  float* y;
  int64_t y_stride;
  int32_t pixel_count;  // pixels stored: the template argument, or one less
  // Channels stored of the last panel where kStoresPartOfPanel; elsewhere whole vectors are.
  int32_t last_lanes;
  float low;  // limits of the activation
  float high;
};

constexpr int64_t kAheadBytes = 128;

// Sums of so many products begin with the bias, longer ones with zeros. These come from memory like
// the bias, for which GCC 12 leaves the sums in the registers that it gave them.
constexpr int64_t kShortSum = 32;
HWY_ALIGN inline constexpr float
    kZeroSums[(kRowPanels > kTilePanels ? kRowPanels : kTilePanels) * kChannelPanel] = {};

// Holds the sums of a tile. Loops over them are unrolled, so that they are registers. `kVectors`
// counts those of all panels: fewer if the last panel is narrow.
template <int kPixels, int kPanels, int kVectors = (kPanels * kPanelVectors)>
using TileSums = PanelVec[kPixels][kVectors];

// sum += x * w.
HWY_INLINE void add_product(PanelVec x, PanelVec w, PanelVec& sum) {
#if HWY_TARGET == HWY_AVX2
  // Names the register that is overwritten. GCC 12 takes that of a dying input as readily, moves
  // the sums about for it, and of 16 registers that leaves too few: some sums went through memory,
  // which takes longer than their turn.
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum.raw) : "x"(x.raw), "x"(w.raw));
#else
  sum = hwy::HWY_NAMESPACE::MulAdd(x, w, sum);
#endif
}

// sums += input * weights for one input channel; `weights` is the first panel's 16 at it,
// inputs[pixel] where the pixel's channels are.
template <int kPixels, int kPanels, int kVectors = (kPanels * kPanelVectors), class Inputs>
HWY_INLINE void add_channel(TileSums<kPixels, kPanels, kVectors>& sums, const Inputs& inputs,
                            int64_t channel, const float* weights, int64_t panel_elements) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  PanelVec w[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v)
    w[v] = hn::LoadU(
        d, weights + v / kPanelVectors * panel_elements + v % kPanelVectors * kPanelLanes);
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    const PanelVec x = hn::Set(d, inputs[pixel][channel]);
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) add_product(x, w[v], sums[pixel][v]);
  }
}

#if HWY_TARGET == HWY_NEON
// Four input channels of a pixel in one register: NEON multiplies by a lane of it, and a load that
// fills a register with one value would take a slot of the pipe that multiplies.
template <int kLane, int kPixels, int kVectors>
HWY_INLINE void add_lane(TileSums<kPixels, 1, kVectors>& sums, const float32x4_t* x,
                         const float* weights) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const float32x4_t w = vld1q_f32(weights + kLane * kChannelPanel + v * kPanelLanes);
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel)
      sums[pixel][v].raw = vfmaq_laneq_f32(sums[pixel][v].raw, w, x[pixel], kLane);
  }
}
#endif

// Adds the products of four input channels from `channel` on.
template <int kPixels, int kPanels, int kVectors = (kPanels * kPanelVectors), class Inputs>
HWY_INLINE void add_four_channels(TileSums<kPixels, kPanels, kVectors>& sums, const Inputs& inputs,
                                  int64_t channel, const float* weights, int64_t panel_elements) {
#if HWY_TARGET == HWY_NEON
  static_assert(kPanels == 1);
  static_cast<void>(panel_elements);
  float32x4_t x[kPixels];
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel) x[pixel] = vld1q_f32(inputs[pixel] + channel);
  add_lane<0, kPixels, kVectors>(sums, x, weights);
  add_lane<1, kPixels, kVectors>(sums, x, weights);
  add_lane<2, kPixels, kVectors>(sums, x, weights);
  add_lane<3, kPixels, kVectors>(sums, x, weights);
#else
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    add_channel<kPixels, kPanels, kVectors>(sums, inputs, channel + i, weights + i * kChannelPanel,
                                            panel_elements);
#endif
}

// Where a vector is a panel, a mask on the last one costs nothing. Elsewhere panels that end within
// a vector take the general ending below.
constexpr bool kStoresPartOfPanel = HWY_TARGET == HWY_AVX3;
#if HWY_TARGET == HWY_AVX3
using LastLanes = hwy::HWY_NAMESPACE::Mask<PanelTag>;
HWY_INLINE LastLanes last_lanes_of(int32_t count) {
  return hwy::HWY_NAMESPACE::FirstN(PanelTag{}, static_cast<size_t>(count));
}
HWY_INLINE PanelVec load_last(LastLanes lanes, const float* p) {
  return hwy::HWY_NAMESPACE::MaskedLoad(lanes, PanelTag{}, p);
}
HWY_INLINE void store_last(LastLanes lanes, PanelVec v, float* p) {
  hwy::HWY_NAMESPACE::BlendedStore(v, lanes, PanelTag{}, p);
}
#else
struct LastLanes {};
HWY_INLINE LastLanes last_lanes_of(int32_t) { return {}; }
HWY_INLINE PanelVec load_last(LastLanes, const float* p) {
  return hwy::HWY_NAMESPACE::LoadU(PanelTag{}, p);
}
HWY_INLINE void store_last(LastLanes, PanelVec v, float* p) {
  hwy::HWY_NAMESPACE::StoreU(v, PanelTag{}, p);
}
#endif

// `kLastVectors` counts the vectors of the last panel.
template <int kPixels, int kPanels, int kLastVectors = kPanelVectors>
HWY_NOINLINE void compute_tile(const PanelTile& tile) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  constexpr int kVectors = (kPanels - 1) * kPanelVectors + kLastVectors;
  TileSums<kPixels, kPanels, kVectors> sums;
  const bool is_short = tile.tap_count * tile.depth <= kShortSum;
  const float* const starts = is_short ? tile.bias : kZeroSums;
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const PanelVec start = hn::LoadU(d, starts + v * kPanelLanes);
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel) sums[pixel][v] = start;
  }

  const int64_t panel_elements = tile.panel_elements;
  const float* const* inputs = tile.inputs;
  uintptr_t ahead = tile.ahead;
  for (int64_t tap = 0; tap < tile.tap_count; ++tap, inputs += tile.tap_step) {
    const float* weights = tile.weights + tile.taps[tap].weight_offset;
    int64_t channel = tile.first_channel + tile.taps[tap].input_offset;
    const int64_t end = channel + tile.depth;
    for (; channel + 4 <= end; channel += 4, weights += 4 * kChannelPanel) {
      add_four_channels<kPixels, kPanels, kVectors>(sums, inputs, channel, weights, panel_elements);
      for (int64_t line = 0; line < kAheadBytes; line += 64)
        __builtin_prefetch(reinterpret_cast<const void*>(ahead + line), 0, 2);
      ahead += kAheadBytes;
    }
    // Three channels are what the first layer of most networks has.
    if (kPixels == kTilePixels && kLastVectors == kPanelVectors && end - channel == 3) {
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i)
        add_channel<kPixels, kPanels, kVectors>(sums, inputs, channel + i,
                                                weights + i * kChannelPanel, panel_elements);
      continue;
    }
    for (; channel < end; ++channel, weights += kChannelPanel)
      add_channel<kPixels, kPanels, kVectors>(sums, inputs, channel, weights, panel_elements);
  }

  if (!is_short) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const PanelVec bias = hn::LoadU(d, tile.bias + v * kPanelLanes);
#pragma GCC unroll 16
      for (int pixel = 0; pixel < kPixels; ++pixel) sums[pixel][v] = hn::Add(sums[pixel][v], bias);
    }
  }
  const LastLanes last = last_lanes_of(tile.last_lanes);
  if (tile.residual != nullptr) {
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      if (pixel >= tile.pixel_count) break;
      const float* residual = tile.residual + pixel * tile.residual_stride;
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const float* from = residual + v * kPanelLanes;
        sums[pixel][v] =
            hn::Add(sums[pixel][v], v + 1 == kVectors ? load_last(last, from) : hn::LoadU(d, from));
      }
    }
  }
  // Skipped where they change nothing: they take the ports that multiply.
  if (tile.low > -__builtin_inff()) {
    const PanelVec low = hn::Set(d, tile.low);
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[pixel][v] = at_least(sums[pixel][v], low);
  }
  if (tile.high < __builtin_inff()) {
    const PanelVec high = hn::Set(d, tile.high);
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[pixel][v] = at_most(sums[pixel][v], high);
  }
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    if (pixel >= tile.pixel_count) break;
    float* y = tile.y + pixel * tile.y_stride;
#pragma GCC unroll 16
    for (int v = 0; v + 1 < kVectors; ++v) hn::StoreU(sums[pixel][v], d, y + v * kPanelLanes);
    store_last(last, sums[pixel][kVectors - 1], y + (kVectors - 1) * kPanelLanes);
  }
}

using TileFunction = void (*)(const PanelTile& tile);

constexpr int tile_size_for(int pixel_count) { return kTileSize.size_for(pixel_count); }

// `pixels` is a value of tile_size_for().
template <int kPanels, int kLastVectors = kPanelVectors, int kPixels = kTilePixels>
TileFunction tile_function(int pixels) {
  if constexpr (kPixels == 1) {
    return compute_tile<1, kPanels, kLastVectors>;
  } else if constexpr (tile_size_for(kPixels) != kPixels) {
    return tile_function<kPanels, kLastVectors, kPixels - 1>(pixels);
  } else {
    return pixels == kPixels ? compute_tile<kPixels, kPanels, kLastVectors>
                             : tile_function<kPanels, kLastVectors, kPixels - 1>(pixels);
  }
}

// Returns the function for one panel of last_panel_vectors(`channels`).
inline TileFunction last_panel_function(int64_t channels, int pixels) {
  constexpr int kHalf = last_panel_vectors(1);
  if constexpr (kHalf < kPanelVectors)
    if (last_panel_vectors(channels) == kHalf)
      return tile_function<1, kHalf, tile_pixels_of(kHalf)>(pixels);
  return tile_function<1>(pixels);
}

// Holds everything that a row of output panels needs besides the tile, for the general ending.
struct PanelOutput {
  const Activation* activation;
  int32_t valid_lanes;  // channels of the panel
  // So many lanes of memory are written: those, and the pixel's pad lanes if it is the last panel.
  // Up to 18: of three groups of 15 channels the last panel has 15 lanes and the pixel 3 of
  // padding.
  int32_t stored_lanes;
};

// Ends the sums of one panel that compute_tile() cannot store: where pad lanes follow, or the last
// vector is not whole and !kStoresPartOfPanel. `sums` has bias and products, `sum_stride` elements
// from pixel to pixel.
inline HWY_NOINLINE void finish_panel(const PanelOutput& output, const float* sums,
                                      int64_t sum_stride, const float* residual,
                                      int64_t residual_stride, float* y, int64_t y_stride,
                                      int32_t pixel_count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  for (int32_t pixel = 0; pixel < pixel_count; ++pixel) {
    for (int32_t lane = 0; lane < output.stored_lanes; lane += kPanelLanes) {
      const int32_t count = output.stored_lanes - lane;
      PanelVec sum = lane < output.valid_lanes ? hn::LoadU(d, sums + lane) : hn::Zero(d);
      if (residual != nullptr) sum = hn::Add(sum, load_lanes(d, residual + lane, count));
      sum = activate(d, *output.activation, sum);
      store_lanes(d, keep_lanes(d, sum, output.valid_lanes - lane), y + lane, count);
    }
    sums += sum_stride;
    if (residual != nullptr) residual += residual_stride;
    y += y_stride;
  }
}

// Holds the functions for tiles of `tile_size_for(pixel_count)` pixels: for one whole panel, for
// the last one of `channels`, and for kTilePanels, or kRowPanels of a row's only pixel. More pixels
// than kTilePixels have only tiles of a narrow last panel, which is the only one.
struct TileFunctions {
  TileFunctions(int pixel_count, int64_t channels, bool is_row = false)
      : of_last(last_panel_function(channels, tile_size_for(pixel_count))),
        most_panels(is_row ? kRowPanels : kTilePanels),
        last_lanes(last_panel_vectors(channels) * kPanelLanes) {
    if (pixel_count > kTilePixels) return;
    of_one = tile_function<1>(tile_size_for(pixel_count));
    of_most = is_row ? compute_tile<1, kRowPanels>
                     : tile_function<kTilePanels>(tile_size_for(pixel_count));
  }
  TileFunction of_one = nullptr;
  TileFunction of_last;
  TileFunction of_most = nullptr;
  int most_panels;
  int last_lanes;  // that of_last computes
};

// Computes whole vectors into a buffer, and ends the panels one by one.
inline HWY_NOINLINE void run_general_tile(const PanelTile& tile, TileFunction compute,
                                          int panel_count, const PanelOutput& output) {
  HWY_ALIGN float sums[kMaxTilePixels * kTilePanels * kChannelPanel];
  static_assert(kRowPanels <= kMaxTilePixels * kTilePanels);
  constexpr int64_t kSumStride = kTilePanels * kChannelPanel;
  PanelTile raw = tile;
  raw.residual = nullptr;
  raw.y = sums;
  raw.y_stride = kSumStride;
  raw.last_lanes = kChannelPanel;
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

// Computes `panel_count` panels (1 or functions.most_panels), the last with `output`'s lanes, the
// others whole. The limits of the tile are the activation's, its last_lanes the valid ones of
// `output`.
HWY_INLINE void run_tile(const PanelTile& tile, const TileFunctions& functions, int panel_count,
                         const PanelOutput& output) {
  TileFunction compute = functions.of_most;
  int whole_lanes = kChannelPanel;  // computed lanes of the last panel
  if (panel_count == 1) {
    compute = functions.of_one;
    if (output.valid_lanes < kChannelPanel) {
      compute = functions.of_last;
      whole_lanes = functions.last_lanes;
    }
  }
  if (output.stored_lanes != output.valid_lanes ||
      (!kStoresPartOfPanel && output.valid_lanes != whole_lanes))
    return run_general_tile(tile, compute, panel_count, output);
  compute(tile);
  // The values just stored are in the first-level cache.
  if (output.activation->has_curve)
    activate_rows(*output.activation, tile.y, tile.y_stride, tile.y, tile.y_stride,
                  tile.pixel_count, (panel_count - 1) * kChannelPanel + output.valid_lanes);
}

constexpr int64_t pass_panels_for(int64_t panel_elements, int64_t call_panels = kTilePanels) {
  return kTileSize.pass_panels(panel_elements * int64_t{sizeof(float)}, call_panels);
}

// Returns PanelTile::ahead of tile `tile` of a pass over the pixels: its tiles together fetch the
// weights of the next pass, which stand behind its own, as long as there are any.
HWY_INLINE uintptr_t ahead_of(const float* weights, int64_t panel_count, int64_t panel_elements,
                              int64_t pass_panels, int64_t tile) {
  const int64_t panel_bytes = panel_elements * int64_t{sizeof(float)};
  const int64_t begin = panel_elements / kChannelPanel / 4 * kAheadBytes * tile;
  const int64_t next = begin < panel_count * panel_bytes ? pass_panels * panel_bytes + begin : 0;
  return reinterpret_cast<uintptr_t>(weights) + static_cast<uintptr_t>(next);
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_PANEL_TILE_INL_H
