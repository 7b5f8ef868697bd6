#include "kernels/common/gemm/gemm_tile.h"

namespace codl::kernels {

int32_t set_gemm(const GemmTile& tile, int64_t rows, int64_t panels, ClLaunch* out) {
  out->define("TILE_M", tile.m);
  out->define("TILE_N", tile.n);
  out->define("TILE_K", tile.k);
  out->define("ITEM_M", tile.item_m);
  out->define("ITEM_N", tile.item_n);
  out->define("SLICES", tile.slices);
  const int64_t column_tiles = ceil_div(panels * kChannelPanel, tile.n);
  const int64_t items = tile.items();
  out->local[0] = static_cast<uint64_t>(items);
  out->local[1] = out->local[2] = 1;
  out->local_bytes = static_cast<uint32_t>(gemm_local_bytes(tile));
  out->global[0] = static_cast<uint64_t>(column_tiles * ceil_div(rows, tile.m) * items);
  out->global[1] = out->global[2] = 1;
  return static_cast<int32_t>(column_tiles);
}

}  // namespace codl::kernels
