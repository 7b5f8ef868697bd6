// Computes Winograd's convolution for 3x3 filters that move by one: it makes outputs in tiles of m
// x m, each from (m + 2) x (m + 2) inputs d with as many multiplications per channel, where the
// direct sum needs 9 m x m of them:
//
//   Y = A^T [ sum over ic of (G g G^T) * (B^T d B) ] A        (* element by element)
//
// so that the sum is one matrix product [tiles, ic] x [ic, oc] per position of the transform.
// Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308;
// the matrices follow from interpolation points (Toom and Cook) that are 0, infinity and pairs +-p.
//
// Rounding: B^T and A^T have entries of different size, and errors grow with m. The points are
// those of few bits with the least error among what was tried (sums of 128 channels, uniform
// inputs, relative L2 error): m = 2: 3e-7, m = 4: 1.1e-6 (3e-6 with the points 1 and 2 of the
// paper), m = 6: 5e-6. The direct sum has 3e-7.
//
// An infinity or a NaN in a tile's inputs makes NaN of the whole tile.
#pragma once

#include "kernels/common/contract/conv_window.h"
#include "kernels/common/gemm/panel_tile.h"

namespace codl::kernels {

// Returns the m of a packing of transformed weights, or 0.
constexpr int32_t winograd_outputs(PackingKind packing) {
  switch (packing) {
    case PackingKind::Winograd2:
      return 2;
    case PackingKind::Winograd4:
      return 4;
    default:
      return 0;
  }
}

// Holds the transform of m = 2 kPairs outputs from kInputs inputs of one axis.
template <int kPairs>
struct WinogradTransform {
  static constexpr int kOutputs = 2 * kPairs;
  static constexpr int kInputs = kOutputs + 2;
  static constexpr int kPositions = kInputs * kInputs;

  double points[kPairs];          // the positive ones
  double all[kPairs + 1];         // coefficients of prod (t - p^2), ascending
  double others[kPairs][kPairs];  // indexed by pair: the product lacks the pair's own factor
  double filter_scale[kPairs];    // G's row of +-p is [1, +-p, p^2] times this

  constexpr explicit WinogradTransform(const double (&pairs)[kPairs])
      : points(), all(), others(), filter_scale() {
    multiply_up(pairs, kPairs, all);
    for (int i = 0; i < kPairs; ++i) {
      points[i] = pairs[i];
      double rest[kPairs] = {};
      int count = 0;
      double scale = 2 * pairs[i] * pairs[i];
      for (int j = 0; j < kPairs; ++j) {
        if (j == i) continue;
        rest[count++] = pairs[j];
        scale *= pairs[i] * pairs[i] - pairs[j] * pairs[j];
      }
      multiply_up(rest, count, others[i]);
      filter_scale[i] = 1 / scale;
    }
  }

 private:
  // Sets out[0 .. count] to the coefficients of prod (t - roots[k]^2).
  static constexpr void multiply_up(const double* roots, int count, double* out) {
    out[0] = 1;
    for (int n = 0; n < count; ++n) {
      const double square = roots[n] * roots[n];
      out[n + 1] = out[n];
      for (int k = n; k > 0; --k) out[k] = out[k - 1] - square * out[k];
      out[0] = -square * out[0];
    }
  }
};

// Each transform in use has one.
template <int kPairs>
extern const WinogradTransform<kPairs> kWinograd;
template <>
inline constexpr WinogradTransform<1> kWinograd<1> = WinogradTransform<1>({1.0});
template <>
inline constexpr WinogradTransform<2> kWinograd<2> = WinogradTransform<2>({0.625, 1.5});

// `dims` are OIHW with 3x3 filters. Packed: [ceil(oc/16)][(m + 2)^2][ic][16], G g G^T computed in
// double and rounded once; lanes past oc are zero. `Element`: float or Half.
constexpr uint64_t winograd_packed_elements(PackingKind packing, const int32_t* dims) {
  const auto inputs = static_cast<uint64_t>(winograd_outputs(packing) + 2);
  return static_cast<uint64_t>(panel_channels(dims[0])) * inputs * inputs *
         static_cast<uint64_t>(dims[1]);
}
template <typename Element>
void winograd_pack(PackingKind packing, const int32_t* dims, const float* src, Element* dst);

// Returns null if the kernel's method computes such a convolution.
constexpr const char* check_winograd(const Conv2dParams& params, const OperandShape& w) {
  const bool is_made_for = params.groups == 1 && w.dims[2] == 3 && w.dims[3] == 3 &&
                           params.stride_h == 1 && params.stride_w == 1 && params.dilation_h == 1 &&
                           params.dilation_w == 1;
  // A Round behind it says that the sums are integers: the transforms would leave them beside
  // those, and a large sum would become another integer.
  if (params.activation == kUnaryRound) return "an activation other than Round";
  return is_made_for ? nullptr : "a 3x3 filter of one group that moves by one";
}

// Returns the rows of the tiles that have `rows` in them, inside the output. Tiles lie on one grid,
// whatever the part: results do not depend on where a step is cut.
constexpr Range winograd_rows(int32_t outputs, Range rows, const OperandShape& y) {
  const int32_t end = round_up(rows.end, outputs);
  return {rows.begin / outputs * outputs, end < y.dims[2] ? end : y.dims[2]};
}

// Transformed inputs and their products are floats, whatever a map holds.
inline constexpr int32_t kWinogradNumberBytes = sizeof(float);

// Bytes of transformed inputs and products of a task: with the weights that stream past them they
// share a second-level cache of 2 MiB; smaller caches leave them to the next level.
inline constexpr int64_t kWinogradInputBytes = 1024 * 1024;
inline constexpr int64_t kWinogradProductBytes = 512 * 1024;

// The part that a step computes and how it is cut into tasks: task t is block t / panel_blocks of
// the tiles with block t % panel_blocks of the panels. Tasks of a block of tiles follow each other,
// because a worker transforms its inputs once for all of them that it runs.
struct WinogradWork {
  Range rows;    // rows of the output
  Range panels;  // panels of packed w
  Range tile_rows;
  int64_t tile_columns;
  int64_t tiles;  // tiles of all images, ordered by image, row, column
  int64_t tiles_per_block;
  int64_t panels_per_block;
  int64_t tile_blocks;
  int64_t panel_blocks;
  int64_t task_count;
  // Scratch counts in these floats. It holds inputs: [position][ic / 16][tiles_per_block][16];
  // products: [position][tiles_per_block][panels_per_block][16]. Positions are an odd number of
  // cache lines apart, so that a tile's lines of all positions fall into different sets of a cache.
  int64_t input_stride;
  int64_t product_stride;
  int64_t product_offset;
  int64_t zeros_offset;  // a pixel that stands for padding
  int64_t block_offset;  // the number of the block of tiles that the inputs are of
  uint64_t scratch_bytes;
};

constexpr WinogradWork winograd_work(int32_t outputs, const OperandShape& x, const OperandShape& y,
                                     SplitDim part_dim, Range part) {
  WinogradWork work = {};
  work.rows = rows_of_part(part_dim, part, y);
  work.panels = {0, static_cast<int32_t>(ceil_div(y.dims[1], kChannelPanel))};
  if (part_dim == SplitDim::OutputChannel)
    work.panels = {part.begin / kChannelPanel,
                   static_cast<int32_t>(ceil_div(part.end, kChannelPanel))};
  work.tile_rows = {work.rows.begin / outputs,
                    static_cast<int32_t>(ceil_div(work.rows.end, outputs))};
  work.tile_columns = ceil_div(y.dims[3], outputs);
  work.tiles = int64_t{y.dims[0]} * work.tile_rows.count() * work.tile_columns;

  // The more tiles a block has, the less often the weights pass; at least kMinTiles.
  constexpr int64_t kMinTiles = 56;
  constexpr int64_t kMaxTiles = 112;
  constexpr int64_t kLineBytes = kChannelPanel * kWinogradNumberBytes;
  const int64_t positions = int64_t{outputs + 2} * (outputs + 2);
  const int64_t chunks = ceil_div(x.dims[1], kChannelPanel);
  int64_t block = kWinogradInputBytes / (positions * chunks * kLineBytes);
  if (block < kMinTiles) block = kMinTiles;
  if (block > kMaxTiles) block = kMaxTiles;
  work.tile_blocks = ceil_div(work.tiles, block);
  // Even: the micro-kernel of some instruction sets computes two at least.
  work.tiles_per_block = ceil_div(ceil_div(work.tiles, work.tile_blocks), 2) * 2;
  work.tile_blocks = ceil_div(work.tiles, work.tiles_per_block);

  // So many tasks leave little undone for the slowest of eight workers.
  constexpr int64_t kWantedTasks = 16;
  int64_t panels = kWinogradProductBytes / (positions * work.tiles_per_block * kLineBytes) / 2 * 2;
  while (panels > 2 && work.tile_blocks * ceil_div(work.panels.count(), panels) < kWantedTasks)
    panels -= 2;
  if (panels < 2) panels = 2;
  if (panels > work.panels.count()) panels = work.panels.count();
  work.panels_per_block = panels;
  work.panel_blocks = ceil_div(work.panels.count(), panels);
  work.task_count = work.tile_blocks * work.panel_blocks;

  work.input_stride = (chunks * work.tiles_per_block | 1) * kChannelPanel;
  work.product_stride = (panels * work.tiles_per_block | 1) * kChannelPanel;
  work.product_offset = positions * work.input_stride;
  work.zeros_offset = work.product_offset + positions * work.product_stride;
  work.block_offset = work.zeros_offset + chunks * kChannelPanel;
  work.scratch_bytes =
      static_cast<uint64_t>((work.block_offset + kChannelPanel) * kWinogradNumberBytes);
  return work;
}

}  // namespace codl::kernels
