// Decides, while planning, which tile of gemm_tile.cl is taken.
#pragma once

#include "kernels/common/work/gpu_facts.h"

namespace codl::kernels {

// The tiles that a kernel chooses among if the profile has none, timed by the GPU's facts: the
// loads of a work-item's factors take turns with its multiply-adds, a step waits for memory once,
// and a unit holds as many groups as its registers and local memory have room for. None that takes
// more than a group or a work-item may have.
TimedTiles timed_gemm_tiles(const GpuFacts& gpu);

// The fastest for `size` among the profile's tiles for the kernel, or among those; `size` must not
// depend on how the operator is cut: neither does the order of additions then.
GemmTile fastest_gemm_tile(const KernelInfo& kernel, const GemmSize& size, const GpuFacts& gpu);
// Returns the fastest of `tiles`; without any kPlainGemmTile, for which the GPU then has no room.
// The GPU has `units`.
GemmTile fastest_gemm_tile(const TimedTiles& tiles, const GemmSize& size, int32_t units);
// Predicts how long a tile takes for `size`; fastest_gemm_tile() compares these times.
double predicted_ns(const TimedTile& timed, const GemmSize& size, int32_t units);

// For OpWork::choose_tile.
uint32_t write_gemm_tile(const GemmTile& tile, int32_t* out_tile);

}  // namespace codl::kernels
