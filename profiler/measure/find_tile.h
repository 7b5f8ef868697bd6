// Searches the best tile for a kernel of a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "profiler/fit/tiles.h"
#include "profiler/measure/shapes.h"
#include "profiler/measure/step_case.h"

namespace codl::profiler {

using Tile = std::vector<int32_t>;  // numbers of StepShape::tile

struct TileSearch {
  // Returns the microseconds of the step with each of the tiles, which took turns; 0 if the device
  // refuses the tile. Empty if it cannot hold the step.
  std::function<std::vector<double>(const KernelInfo& kernel, const StepCase& item,
                                    const std::vector<Tile>& tiles)>
      times_us;
  std::function<bool()> is_over;  // the time for the search is over
  kernels::GpuFacts gpu;          // without tiles: the choice is compared with the defaults
  WorkLimits limits;              // tiles are tried on steps within these
  bool is_processor = false;      // OpenCL runs on a CPU
  int64_t most_items = 1024;      // CL_DEVICE_MAX_WORK_GROUP_SIZE
};

struct TileResult {
  FoundTile tile;
  std::string note;  // the result, for people
};

// True if there are tiles to choose from.
bool has_tiles_to_try(const KernelInfo& kernel, const TileSearch& search);

// Returns the best tile. It replaces the default only if it is at least 5 % faster in the geometric
// mean over some steps, and over others that had no part in choosing it, so that noise chooses
// nothing. Returns nothing if the time was over or no step of the kernel depends on the tile.
std::optional<TileResult> find_tile(const KernelInfo& kernel, const TileSearch& search,
                                    std::mt19937_64& random);

}  // namespace codl::profiler
