#include "profiler/measure/tune_tiles.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "kernels/work_table.h"
#include "profiler/fit/fit.h"
#include "profiler/measure/find_tile.h"
#include "profiler/measure/session.h"

namespace codl::profiler {
namespace {

constexpr int kTileRuns = 9;
// Longer steps run three times.
constexpr double kLongTileStepUs = 10'000;

// Tiles take turns, so that interference hits all of them.
std::vector<double> times_in_turns(MeasuredGpu& gpu, const KernelInfo& kernel, const StepCase& item,
                                   const std::vector<Tile>& tiles) {
  std::vector<std::unique_ptr<PreparedStep>> steps;
  std::vector<std::vector<double>> times(tiles.size());
  double longest_us = 0;
  for (const Tile& tile : tiles) {
    steps.push_back(gpu.prepare(kernel, item, tile));
    if (steps.back()) longest_us = std::max(longest_us, steps.back()->run_us());
  }
  for (int run = 0; run < (longest_us > kLongTileStepUs ? 3 : kTileRuns); ++run)
    for (size_t i = 0; i < steps.size(); ++i)
      if (steps[i]) times[i].push_back(steps[i]->run_us());
  std::vector<double> undisturbed;
  for (const std::vector<double>& own : times)
    undisturbed.push_back(own.empty() ? 0 : std::max(quantile(own, kQuietShare), 0.01));
  return undisturbed;
}

// Kernels that take most of a network's time come first; tables come last, because one takes as
// long as ten local sizes.
std::vector<const KernelInfo*> rows_to_tune(
    const TuneOptions& options, const TileSearch& search,
    const std::function<bool(const KernelInfo&)>& is_known) {
  std::vector<const KernelInfo*> rows;
  for (const KernelInfo& kernel : kKernelInfos) {
    if (has_tiles_to_try(kernel, search) && !is_known(kernel) &&
        is_wanted(kernel, options.kernels, options.has_images))
      rows.push_back(&kernel);
  }
  const auto place = [](const KernelInfo* kernel) {
    if (kernels::tile_kind_of(*kernel) == kernels::TileKind::Gemm) return 2;
    return has_multiply_adds(*kernel) ? 0 : 1;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const KernelInfo* a, const KernelInfo* b) { return place(a) < place(b); });
  return rows;
}

}  // namespace

bool tune_tiles(MeasuredGpu& gpu, const std::vector<Sample>& samples, const TuneOptions& options,
                std::vector<FoundTile>* tiles) {
  const auto start = std::chrono::steady_clock::now();
  TileSearch search;
  search.times_us = [&](const KernelInfo& kernel, const StepCase& item,
                        const std::vector<Tile>& candidates) {
    return times_in_turns(gpu, kernel, item, candidates);
  };
  search.is_over = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    return spent.count() >= options.budget_s || options.is_interrupted();
  };
  search.gpu = gpu.gpu_facts();
  search.gpu.tiles = kernels::GpuTiles{};
  search.is_processor = gpu.is_cpu_device();
  search.most_items = static_cast<int64_t>(gpu.number(CL_DEVICE_MAX_WORK_GROUP_SIZE));
  // Every candidate has memory of its own.
  search.limits.most_elements /= 2;
  if (search.is_processor) {
    search.limits.most_macs /= 10;
    search.limits.most_elements /= 5;
  }
  std::mt19937_64 random(20);
  const std::vector<const KernelInfo*> rows =
      rows_to_tune(options, search, [&](const KernelInfo& kernel) {
        return std::any_of(tiles->begin(), tiles->end(),
                           [&](const FoundTile& tile) { return tile.kernel == &kernel; }) ||
               std::any_of(samples.begin(), samples.end(),
                           [&](const Sample& sample) { return sample.kernel == &kernel; });
      });
  size_t left = rows.size();
  for (const KernelInfo* kernel : rows) {
    const std::optional<TileResult> result = find_tile(*kernel, search, random);
    if (search.is_over() && !result) break;
    --left;
    if (!result) continue;
    std::fprintf(stderr, "tile of %s: %s (%s)\n", kernel->symbol, name_of(result->tile).c_str(),
                 result->note.c_str());
    options.append(to_line(result->tile));
    tiles->push_back(result->tile);
  }
  if (options.is_interrupted()) return false;
  if (left != 0)
    std::fprintf(stderr,
                 "tiles: %zu of %zu kernels keep the default untried, as a tenth of the time is "
                 "over\n",
                 left, rows.size());
  return true;
}

}  // namespace codl::profiler
