// Finds the tiles of a GPU's kernels before anything else is timed with them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profiler/fit/sample.h"
#include "profiler/fit/tiles.h"
#include "profiler/measure/measured_gpu.h"

namespace codl::profiler {

struct TuneOptions {
  std::string kernels;     // only kernels that have this in their symbol
  bool has_images = true;  // if false, kernels that write images are left out
  double budget_s = 30;
  std::function<bool()> is_interrupted;
  std::function<void(const std::string& line)> append;  // writes to the sample file
};

// Adds to `tiles` the tiles found for kernels without one, writes a line of the sample file for
// each, and reports it on standard error. A kernel that has samples keeps the tile that they were
// measured with. Returns false if interrupted.
bool tune_tiles(MeasuredGpu& gpu, const std::vector<Sample>& samples, const TuneOptions& options,
                std::vector<FoundTile>* tiles);

}  // namespace codl::profiler
