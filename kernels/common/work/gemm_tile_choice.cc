#include "kernels/common/work/gemm_tile_choice.h"

namespace codl::kernels {
namespace {

// The list goes from the tiles that use each factor most often to those that make the most groups.
constexpr GemmTile kTiles[] = {
    {64, 128, 16, 8, 8, 1}, {128, 64, 16, 8, 8, 1}, {64, 64, 32, 8, 4, 2},   {32, 64, 32, 4, 4, 2},
    {32, 32, 32, 4, 4, 4},  {16, 32, 64, 4, 4, 8},  {16, 16, 128, 4, 4, 16},
};
constexpr uint32_t kTileCount = sizeof(kTiles) / sizeof(kTiles[0]);
static_assert(kTileCount <= TimedTiles::kMaxCount);

constexpr bool are_tiles_legal() {
  for (const GemmTile& tile : kTiles)
    if (check_gemm_tile(tile) != nullptr) return false;
  return true;
}
static_assert(are_tiles_legal());

TimedTile timed_tile(const GemmTile& tile, const GpuFacts& gpu) {
  const double item_macs = tile.item_m * tile.item_n;
  const double item_loads = tile.item_m + tile.item_n;
  TimedTile timed;
  timed.tile = tile;
  timed.macs_per_ns = gpu.unit_macs_per_ns * item_macs / (item_macs + item_loads);
  timed.step_ns = gpu.latency_ns;
  const double group_registers = (item_macs + 2 * item_loads) * static_cast<double>(tile.items());
  const double by_registers = gpu.unit_registers / group_registers;
  const double by_local = gpu.unit_local_bytes / static_cast<double>(gemm_local_bytes(tile));
  const double residents = by_registers < by_local ? by_registers : by_local;
  constexpr double kMax = 64;  // that a profile may have
  timed.residents = residents < 1 ? 1 : static_cast<int32_t>(residents < kMax ? residents : kMax);
  return timed;
}

}  // namespace

TimedTiles timed_gemm_tiles(const GpuFacts& gpu) {
  TimedTiles timed;
  for (GemmTile tile : kTiles) {
    // Half as deep a step takes half the memory.
    while (check_gemm_tile(tile) == nullptr &&
           static_cast<double>(gemm_local_bytes(tile)) > gpu.max_group_local_bytes)
      tile.k /= 2;
    if (check_gemm_tile(tile) == nullptr && tile.items() <= gpu.max_group_items &&
        gpu.has_registers(static_cast<double>(gemm_item_registers(tile))))
      timed.tiles[timed.count++] = timed_tile(tile, gpu);
  }
  return timed;
}

double predicted_ns(const TimedTile& timed, const GemmSize& size, int32_t units) {
  const GemmTile& tile = timed.tile;
  const int64_t columns = ceil_div(size.columns, kChannelPanel) * kChannelPanel;
  const int64_t groups = size.products * ceil_div(size.rows, tile.m) * ceil_div(columns, tile.n);
  const int64_t unit_groups = ceil_div(groups, units);
  const auto steps = static_cast<double>(ceil_div(size.depth, tile.k));
  const double group_macs = steps * tile.k * tile.m * tile.n;
  const double busy_ns = static_cast<double>(unit_groups) * group_macs / timed.macs_per_ns;
  const double waiting_ns =
      static_cast<double>(ceil_div(unit_groups, timed.residents)) * steps * timed.step_ns;
  return busy_ns > waiting_ns ? busy_ns : waiting_ns;
}

GemmTile fastest_gemm_tile(const TimedTiles& tiles, const GemmSize& size, int32_t units) {
  if (tiles.count == 0) return kPlainGemmTile;
  const TimedTile* best = &tiles.tiles[0];
  double best_ns = predicted_ns(*best, size, units);
  for (uint32_t i = 1; i < tiles.count; ++i) {
    const TimedTile& timed = tiles.tiles[i];
    const double ns = predicted_ns(timed, size, units);
    if (ns >= best_ns) continue;
    best = &timed;
    best_ns = ns;
  }
  return best->tile;
}

GemmTile fastest_gemm_tile(const KernelInfo& kernel, const GemmSize& size, const GpuFacts& gpu) {
  const TimedTiles* own = gpu.tiles.table_of(kernel);
  return fastest_gemm_tile(own == nullptr ? timed_gemm_tiles(gpu) : *own, size, gpu.units);
}

uint32_t write_gemm_tile(const GemmTile& tile, int32_t* out_tile) {
  const int32_t numbers[kGemmTileInts] = {tile.m,      tile.n,      tile.k,
                                          tile.item_m, tile.item_n, tile.slices};
  for (uint32_t i = 0; i < kGemmTileInts; ++i) out_tile[i] = numbers[i];
  return kGemmTileInts;
}

}  // namespace codl::kernels
