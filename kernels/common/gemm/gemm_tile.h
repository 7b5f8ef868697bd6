// The tiles of gemm_tile.cl: which there may be. Which is taken: gemm_tile_choice.h.
#pragma once

#include "kernels/common/launch/cl_launch.h"
#include "schema/half.h"

namespace codl::kernels {

inline constexpr uint32_t kGemmTileInts = 6;
// A work-group of any tile has so much local memory: OpenCL programs get no more from NVIDIA's
// driver. A GPU may have less: GpuFacts.
inline constexpr int64_t kClMaxLocalBytes = 48 * 1024;

// Sizes a tile of gemm_tile.cl: rows, columns and depth of a work-group's step, rows and columns of
// a work-item, and the slices of the depth.
struct GemmTile {
  int32_t m;
  int32_t n;
  int32_t k;
  int32_t item_m;
  int32_t item_n;
  int32_t slices;

  constexpr int64_t items() const { return int64_t{m} / item_m * (n / item_n) * slices; }
};

// Returns the local memory that gemm_tile.cl uses: two stages, or half the slices' sums. Stages of
// halves take less.
constexpr int64_t gemm_local_bytes(const GemmTile& tile) {
  const int64_t stages =
      2 * (int64_t{tile.k} * (tile.m + 4) + int64_t{tile.n} / 16 * (int64_t{tile.k} * 16 + 16));
  const int64_t sums = int64_t{tile.slices} / 2 * tile.m * tile.n;
  return (stages > sums ? stages : sums) * int64_t{kClLocalNumberBytes};
}

// Returns the registers of a work-item for sums, factors and its floats on their way to local
// memory.
constexpr int64_t gemm_item_registers(const GemmTile& tile) {
  return int64_t{tile.item_m} * tile.item_n + tile.item_m + tile.item_n +
         (int64_t{tile.m} + tile.n) * tile.k / tile.items();
}

// Null if gemm_tile.cl can be built with the tile.
constexpr const char* check_gemm_tile(const GemmTile& tile) {
  if (tile.m < 16 || tile.m > 256 || tile.m % 16 != 0 || tile.n < 16 || tile.n > 256 ||
      tile.n % 16 != 0)
    return "a tile of 16 to 256 rows and columns, multiples of 16";
  // A run of products in halves is whole steps.
  static_assert(kHalfSumProducts == 128);
  if (tile.k < 4 || tile.k > kHalfSumProducts || (tile.k & (tile.k - 1)) != 0)
    return "a depth of a step of 4 to 128, a power of two";
  if ((tile.item_m != 4 && tile.item_m != 8) || (tile.item_n != 4 && tile.item_n != 8) ||
      tile.m % tile.item_m != 0 || tile.n % (4 * tile.item_n) != 0)
    return "work-items of 4 or 8 rows and columns that divide the tile";
  if (tile.slices < 1 || tile.slices > tile.k || (tile.slices & (tile.slices - 1)) != 0)
    return "slices that divide the depth of a step";
  const int64_t items = tile.items();
  if (items > kClMaxGroupItems) return "at most 1024 work-items in a group";
  // Each item brings as many quads of A and of B, always from the same place in the depth of A.
  if (int64_t{tile.m} * tile.k / 4 % items != 0 || int64_t{tile.n} * tile.k / 4 % items != 0 ||
      items % (tile.k / 4) != 0 || items % 4 != 0)
    return "loads that the work-items share evenly";
  return gemm_local_bytes(tile) <= kClMaxLocalBytes ? nullptr : "48 KB of local memory at most";
}

// A step without tile numbers uses this tile. Plans have them: gemm_tile_choice.h.
inline constexpr GemmTile kPlainGemmTile = {32, 32, 32, 4, 4, 4};
static_assert(check_gemm_tile(kPlainGemmTile) == nullptr);

constexpr GemmTile gemm_tile_of(const StepShape& step) {
  if (step.tile_count == 0) return kPlainGemmTile;
  return {step.tile[0], step.tile[1], step.tile[2], step.tile[3], step.tile[4], step.tile[5]};
}

// Checks the tile numbers of a step of a tiled kernel: none, or the members of GemmTile.
constexpr const char* check_gemm_tile(const StepShape& step) {
  if (step.tile_count == 0) return nullptr;
  if (step.tile_count != kGemmTileInts) return "no tile, or its six numbers";
  return check_gemm_tile(gemm_tile_of(step));
}

// Sizes the products of rows x depth and depth x columns in one launch.
struct GemmSize {
  int64_t rows;
  int64_t columns;
  int64_t depth;
  int64_t products = 1;
};

// Sets the sizes and defines of gemm_tile.cl; returns the number of tiles in a row of them, the
// kernels' `column_tiles`. `rows` and `panels` are the part's. Several products are further groups
// in the second dimension.
int32_t set_gemm(const GemmTile& tile, int64_t rows, int64_t panels, ClLaunch* out);

}  // namespace codl::kernels
