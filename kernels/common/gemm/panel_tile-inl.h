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
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "kernels/common/gemm/panel_pointer.h"
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
constexpr int tile_pixels_of_channels(int64_t channels) { return kTileSize.most_pixels(channels); }
// This is the largest of all targets.
constexpr int kMaxTilePixels = kTileSize.most_pixels(1);
static_assert(kMaxTilePixels <= kPanelTileMaxPixels && kTilePanels <= kPanelTileMaxPanels);
constexpr int tile_pixels_for(int64_t stride, int most_pixels = kTilePixels) {
  return kTileSize.pixels_for(stride * int64_t{sizeof(float)}, most_pixels);
}

// A matrix product has this list of taps.
inline constexpr PanelTap kOneTap = {0, 0};

// Holds what one call of the micro-kernel adds up. T says what inputs and weights are in memory:
// float, Half or HalfWeights.
template <class T>
struct PanelTile {
  // inputs[tap * tap_step + pixel] points to the pixel's channels of that tap, less the offset of
  // the tap. `tap_step` is 0, or the template argument. There are as many pixels as the template
  // argument says; surplus ones (see pixel_count) repeat a valid pointer.
  const InputOf<T>* const* inputs;
  int64_t tap_step = 0;
  const PanelTap* taps = &kOneTap;
  int64_t tap_count = 1;
  int64_t first_channel = 0;   // is added to every pointer: the group's first input channel
  int64_t depth;               // input channels of a tap
  int64_t panel_elements;      // weights of a panel
  const WeightOf<T>* weights;  // [panels][taps][depth][16]
  const float* bias;           // [panels][16]
  // Address of weights to be needed later: some are brought into the second-level cache meanwhile,
  // from here on, kAheadBytes per four channels of a tap. Behind the weights is harmless.
  uintptr_t ahead;
  int32_t pixel_count;  // pixels stored: the template argument, or one less
};

// Says how the micro-kernel ends the sums that it has added up, and where it stores them.
struct PanelEnd {
  const float* residual = nullptr;  // points at the first pixel and channel, or is null
  int64_t residual_stride = 0;      // elements from pixel to pixel
  float* y;
  int64_t y_stride;
  // Channels stored of the last panel where kStoresPartOfPanel; elsewhere whole vectors are.
  int32_t last_lanes = kChannelPanel;
  float low = -__builtin_inff();  // limits of the activation
  float high = __builtin_inff();
};

template <class T>
constexpr int64_t kAheadBytes = 32 * int64_t{sizeof(WeightOf<T>)};

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
template <int kPixels, int kPanels, int kVectors = (kPanels * kPanelVectors), class Inputs, class T>
HWY_INLINE void add_channel(TileSums<kPixels, kPanels, kVectors>& sums, const Inputs& inputs,
                            int64_t channel, const T* weights, int64_t panel_elements) {
  const PanelTag d;
  PanelVec w[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v)
    w[v] = load_floats(
        d, weights + v / kPanelVectors * panel_elements + v % kPanelVectors * kPanelLanes);
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    const PanelVec x = spread_float(d, inputs[pixel] + channel);
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) add_product(x, w[v], sums[pixel][v]);
  }
}

#if HWY_TARGET == HWY_NEON
// Four input channels of a pixel in one register: NEON multiplies by a lane of it, and a load that
// fills a register with one value would take a slot of the pipe that multiplies.
template <int kLane, int kPixels, int kVectors, class T>
HWY_INLINE void add_lane(TileSums<kPixels, 1, kVectors>& sums, const PanelVec* x,
                         const T* weights) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const PanelVec w = load_floats(PanelTag{}, weights + kLane * kChannelPanel + v * kPanelLanes);
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel)
      sums[pixel][v].raw = vfmaq_laneq_f32(sums[pixel][v].raw, w.raw, x[pixel].raw, kLane);
  }
}
#endif

// Adds the products of four input channels from `channel` on.
template <int kPixels, int kPanels, int kVectors = (kPanels * kPanelVectors), class Inputs, class T>
HWY_INLINE void add_four_channels(TileSums<kPixels, kPanels, kVectors>& sums, const Inputs& inputs,
                                  int64_t channel, const T* weights, int64_t panel_elements) {
#if HWY_TARGET == HWY_NEON
  static_assert(kPanels == 1);
  static_cast<void>(panel_elements);
  PanelVec x[kPixels];
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel)
    x[pixel] = load_floats(PanelTag{}, inputs[pixel] + channel);
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
template <class T, int kPixels, int kPanels, int kLastVectors>
HWY_NOINLINE void compute_tile(const PanelTile<T>& tile, const PanelEnd& end) {
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
  const InputOf<T>* const* inputs = tile.inputs;
  uintptr_t ahead = tile.ahead;
  for (int64_t tap = 0; tap < tile.tap_count; ++tap, inputs += tile.tap_step) {
    const WeightOf<T>* weights = tile.weights + tile.taps[tap].weight_offset;
    int64_t channel = tile.first_channel + tile.taps[tap].input_offset;
    const int64_t channel_end = channel + tile.depth;
    for (; channel + 4 <= channel_end; channel += 4, weights += 4 * kChannelPanel) {
      add_four_channels<kPixels, kPanels, kVectors>(sums, inputs, channel, weights, panel_elements);
      for (int64_t line = 0; line < kAheadBytes<T>; line += 64)
        __builtin_prefetch(reinterpret_cast<const void*>(ahead + line), 0, 2);
      ahead += kAheadBytes<T>;
    }
    // Three channels are what the first layer of most networks has.
    if (kPixels == kTilePixels && kLastVectors == kPanelVectors && channel_end - channel == 3) {
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i)
        add_channel<kPixels, kPanels, kVectors>(sums, inputs, channel + i,
                                                weights + i * kChannelPanel, panel_elements);
      continue;
    }
    for (; channel < channel_end; ++channel, weights += kChannelPanel)
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
  const LastLanes last = last_lanes_of(end.last_lanes);
  if (end.residual != nullptr) {
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      if (pixel >= tile.pixel_count) break;
      const float* residual = end.residual + pixel * end.residual_stride;
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const float* from = residual + v * kPanelLanes;
        sums[pixel][v] =
            hn::Add(sums[pixel][v], v + 1 == kVectors ? load_last(last, from) : hn::LoadU(d, from));
      }
    }
  }
  // Skipped where they change nothing: they take the ports that multiply.
  if (end.low > -__builtin_inff()) {
    const PanelVec low = hn::Set(d, end.low);
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[pixel][v] = at_least(sums[pixel][v], low);
  }
  if (end.high < __builtin_inff()) {
    const PanelVec high = hn::Set(d, end.high);
#pragma GCC unroll 16
    for (int pixel = 0; pixel < kPixels; ++pixel)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[pixel][v] = at_most(sums[pixel][v], high);
  }
#pragma GCC unroll 16
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    if (pixel >= tile.pixel_count) break;
    float* y = end.y + pixel * end.y_stride;
#pragma GCC unroll 16
    for (int v = 0; v + 1 < kVectors; ++v) hn::StoreU(sums[pixel][v], d, y + v * kPanelLanes);
    store_last(last, sums[pixel][kVectors - 1], y + (kVectors - 1) * kPanelLanes);
  }
}

template <class T>
using TileFunction = void (*)(const PanelTile<T>& tile, const PanelEnd& end);

constexpr int tile_size_for(int pixel_count) { return kTileSize.size_for(pixel_count); }

// Names the micro-kernel that multiplies and adds floats, whatever is in memory. Another one has
// the same members: its tiles, and its functions of so many pixels, panels, and vectors of the last
// panel, kSize.lanes of it in each.
template <class T>
struct FloatSums {
  using Element = TileOf<T>;
  static constexpr PanelTileSize kSize = kTileSize;
  template <int kPixels, int kPanels, int kLastVectors>
  static constexpr TileFunction<Element> kFunction =
      compute_tile<Element, kPixels, kPanels, kLastVectors>;
};

// Does the same for weights of halves, a row at a time: larger tiles would be 80 KiB of code for
// few rows of a state.
struct FloatRowSums {
  using Element = HalfWeights;
  static constexpr PanelTileSize kSize = row_tile_size(kTileSize);
  template <int kPixels, int kPanels, int kLastVectors>
  static constexpr TileFunction<Element> kFunction =
      compute_tile<Element, kPixels, kPanels, kLastVectors>;
};

// `pixels` is a value of size_for().
template <class Sums, int kPanels, int kLastLanes = kChannelPanel,
          int kPixels = Sums::kSize.pixels_of_lanes(kLastLanes)>
TileFunction<typename Sums::Element> tile_function(int pixels) {
  constexpr auto kFunction =
      Sums::template kFunction<kPixels, kPanels, kLastLanes / Sums::kSize.lanes>;
  if constexpr (kPixels == 1) {
    return kFunction;
  } else if constexpr (Sums::kSize.size_for(kPixels) != kPixels) {
    return tile_function<Sums, kPanels, kLastLanes, kPixels - 1>(pixels);
  } else {
    return pixels == kPixels ? kFunction
                             : tile_function<Sums, kPanels, kLastLanes, kPixels - 1>(pixels);
  }
}

// Returns the function for one panel of which the last lanes of `channels` are computed.
template <class Sums>
TileFunction<typename Sums::Element> last_panel_function(int64_t channels, int pixels) {
  constexpr int kHalf = Sums::kSize.last_lanes(1);
  if constexpr (kHalf < kChannelPanel)
    if (Sums::kSize.last_lanes(channels) == kHalf) return tile_function<Sums, 1, kHalf>(pixels);
  return tile_function<Sums, 1>(pixels);
}

// Counts the lanes of a panel.
struct PanelLanes {
  int32_t valid = kChannelPanel;  // channels of the panel
  // So many lanes of memory are written: those, and the pixel's pad lanes if it is the last panel.
  // Up to 18: of three groups of 15 channels the last panel has 15 lanes and the pixel 3 of
  // padding.
  int32_t stored = kChannelPanel;
};

struct ByteScales;

// Sets what a tile knows of the sum of its inputs, for the micro-kernels that need it.
template <class T>
HWY_INLINE void sum_inputs(PanelTile<T>*, int) {}

// Holds everything that a row of output panels needs besides the tile.
template <class T>
struct PanelOutput {
  const Activation* activation;
  const T* residual = nullptr;  // points at the first pixel and channel, or is null
  int64_t residual_stride = 0;  // elements from pixel to pixel
  T* y;
  int64_t y_stride;
  PanelLanes lanes;  // those of the last panel; the others are whole
  // These are of bytes.
  const ByteScales* scales = nullptr;
  int64_t panel = 0;
};

// Ends the sums of one panel that the micro-kernel cannot store: where pad lanes follow, where the
// last vector is not whole and !kStoresPartOfPanel, and where the output is halves. `sums` has bias
// and products, `sum_stride` elements from pixel to pixel.
template <class T>
HWY_NOINLINE void finish_panel(const PanelOutput<T>& output, const float* sums, int64_t sum_stride,
                               int32_t pixel_count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const PanelTag d;
  const PanelLanes& lanes = output.lanes;
  const T* residual = output.residual;
  T* y = output.y;
  for (int32_t pixel = 0; pixel < pixel_count; ++pixel) {
    for (int32_t lane = 0; lane < lanes.stored; lane += kPanelLanes) {
      const int32_t count = lanes.stored - lane;
      PanelVec sum = lane < lanes.valid ? hn::LoadU(d, sums + lane) : hn::Zero(d);
      if (residual != nullptr) sum = hn::Add(sum, load_lanes(d, residual + lane, count));
      sum = activate(d, *output.activation, sum);
      store_lanes(d, keep_lanes(d, sum, lanes.valid - lane), y + lane, count);
    }
    sums += sum_stride;
    if (residual != nullptr) residual += output.residual_stride;
    y += output.y_stride;
  }
}

// Holds the functions for tiles of `size_for(pixel_count)` pixels: for one whole panel, for the
// last one of `channels`, and for kSize.panels, or kSize.row_panels of a row's only pixel. More
// pixels than kSize.pixels have only tiles of a narrow last panel, which is the only one.
template <class Sums>
struct TileFunctions {
  static constexpr const PanelTileSize& kSize = Sums::kSize;

  TileFunctions(int pixel_count, int64_t channels, bool is_row = false)
      : of_last(last_panel_function<Sums>(channels, kSize.size_for(pixel_count))),
        most_panels(is_row ? kSize.row_panels : kSize.panels),
        last_lanes(kSize.last_lanes(channels)) {
    if (pixel_count > kSize.pixels) return;
    of_one = tile_function<Sums, 1>(kSize.size_for(pixel_count));
    of_most = is_row ? tile_function<Sums, kSize.row_panels, kChannelPanel, 1>(1)
                     : tile_function<Sums, kSize.panels>(kSize.size_for(pixel_count));
  }
  TileFunction<typename Sums::Element> of_one = nullptr;
  TileFunction<typename Sums::Element> of_last;
  TileFunction<typename Sums::Element> of_most = nullptr;
  int most_panels;
  int last_lanes;  // that of_last computes
};

// Computes whole vectors into a buffer, and ends the panels one by one.
template <class T, class Result>
HWY_NOINLINE void run_general_tile(const PanelTile<T>& tile, TileFunction<T> compute,
                                   int panel_count, const PanelOutput<Result>& output) {
  HWY_ALIGN float sums[kMaxTilePixels * kTilePanels * kChannelPanel];
  static_assert(kRowPanels <= kMaxTilePixels * kTilePanels);
  constexpr int64_t kSumStride = kTilePanels * kChannelPanel;
  compute(tile, {.y = sums, .y_stride = kSumStride});
  PanelOutput<Result> panel = output;
  panel.lanes = {};
  for (int i = 0; i < panel_count; ++i) {
    if (i + 1 == panel_count) panel.lanes = output.lanes;
    finish_panel(panel, sums + i * kChannelPanel, kSumStride, tile.pixel_count);
    if (panel.residual != nullptr) panel.residual += kChannelPanel;
    panel.y += kChannelPanel;
  }
}

// Computes `panel_count` panels, 1 or functions.most_panels.
template <class Sums, class T, class Result>
HWY_INLINE void run_tile(const PanelTile<T>& tile, const TileFunctions<Sums>& functions,
                         int panel_count, const PanelOutput<Result>& output) {
  TileFunction<T> compute = functions.of_most;
  int whole_lanes = kChannelPanel;  // computed lanes of the last panel
  if (panel_count == 1) {
    compute = functions.of_one;
    if (output.lanes.valid < kChannelPanel) {
      compute = functions.of_last;
      whole_lanes = functions.last_lanes;
    }
  }
  if constexpr (!std::is_same_v<Result, float>) {
    run_general_tile(tile, compute, panel_count, output);
  } else {
    const Activation& activation = *output.activation;
    if (output.lanes.stored != output.lanes.valid ||
        (!kStoresPartOfPanel && output.lanes.valid != whole_lanes))
      return run_general_tile(tile, compute, panel_count, output);
    compute(tile, {output.residual, output.residual_stride, output.y, output.y_stride,
                   output.lanes.valid, activation.low, activation.high});
    // The values just stored are in the first-level cache.
    if (activation.has_curve)
      activate_rows(activation, output.y, output.y_stride, output.y, output.y_stride,
                    tile.pixel_count, (panel_count - 1) * kChannelPanel + output.lanes.valid);
  }
}

constexpr int64_t pass_panels_for(int64_t panel_elements, int64_t call_panels = kTilePanels) {
  return kTileSize.pass_panels(panel_elements * int64_t{sizeof(float)}, call_panels);
}

// Returns PanelTile::ahead of tile `tile` of a pass over the pixels: its tiles together fetch the
// weights of the next pass, which stand behind its own, as long as there are any.
template <class T>
HWY_INLINE uintptr_t ahead_of(const T* weights, int64_t panel_count, int64_t panel_elements,
                              int64_t pass_panels, int64_t tile) {
  const int64_t panel_bytes = panel_elements * int64_t{sizeof(T)};
  const int64_t begin = panel_elements / kChannelPanel / 4 * kAheadBytes<T> * tile;
  const int64_t next = begin < panel_count * panel_bytes ? pass_panels * panel_bytes + begin : 0;
  return reinterpret_cast<uintptr_t>(weights) + static_cast<uintptr_t>(next);
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_PANEL_TILE_INL_H
