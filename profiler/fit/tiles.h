// Holds the best tiles found on the GPU, as sample files keep them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/work/gpu_facts.h"

namespace codl::profiler {

// Rounds to so many significant digits, four of which are more than a measurement has. Returns 0 if
// the value is no number.
double rounded(double value, int digits);

// Holds the best choice for a kernel: a local size (TileKind::Local), a table to choose from
// (TileKind::Gemm), or neither if nothing that was tried beats the defaults.
struct FoundTile {
  const KernelInfo* kernel = nullptr;
  std::vector<int32_t> local = {};  // three numbers, or none
  kernels::TimedTiles table = {};   // may be empty
  // Says how much faster it is than the default, on steps that it was not chosen by.
  double gain_percent = 0;

  bool is_default() const { return local.empty() && table.count == 0; }
};

// Returns "8 x 8 x 4"; "64 x 128, 32 x 32"; "the default".
std::string name_of(const FoundTile& tile);

// Writes a line of a sample file, without line end:
//   #tile,symbol,revision,gain_percent,default
//   #tile,symbol,revision,gain_percent,local,x y z
//   #tile,symbol,revision,gain_percent,gemm,m n k item_m item_n slices macs_per_ns step_ns
//   residents
// Further tiles of a table follow after further commas.
std::string to_line(const FoundTile& tile);

// Reads a sample file and returns the last tile of each kernel. Kernels and revisions that this
// build lacks are left out. Throws ToolError (Input) naming the line.
std::vector<FoundTile> read_found_tiles(std::string_view text, const std::string& path);

// Returns the tiles as codlc will see them.
kernels::GpuTiles gpu_tiles_of(const std::vector<FoundTile>& tiles);

}  // namespace codl::profiler
