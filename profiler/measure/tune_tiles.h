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
  std::string kernels;     // kernels that have this in their symbol only
  bool has_images = true;  // else kernels that write images are left out
  double budget_s = 30;
  std::function<bool()> is_interrupted;
  std::function<void(const std::string& line)> append;  // to the sample file
};

// Adds to `tiles` what is found for kernels that are not among them, one line of the sample file
// each, and says so on standard error. A kernel that there are samples of keeps the tile that they
// were measured with. False: interrupted.
bool tune_tiles(MeasuredGpu& gpu, const std::vector<Sample>& samples, const TuneOptions& options,
                std::vector<FoundTile>* tiles);

}  // namespace codl::profiler
