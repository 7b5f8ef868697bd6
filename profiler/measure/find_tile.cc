#include "profiler/measure/find_tile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/work/gemm_tile_choice.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/kernel_table.h"
#include "kernels/matmul/matmul.h"
#include "kernels/work_table.h"

namespace codl::profiler {
namespace {

using LocalSize = std::array<int32_t, 3>;

// A smaller gain is noise, or not worth a line in a profile.
constexpr double kMinGain = 1.05;
// So many steps choose a tile, and as many confirm the choice. A table has three numbers for each
// tile.
constexpr size_t kSteps = 4;
constexpr size_t kTableSteps = 8;
// At most so many draws look for a step whose time depends on the tile.
constexpr int kMaxDraws = 40;

// Tries waves of 16, 32 and 64 items: whole ones, and some together.
constexpr LocalSize kLines[] = {{16, 1, 1}, {32, 1, 1}, {64, 1, 1}, {128, 1, 1}, {256, 1, 1}};
// The first dimension is channels, along which x and y are contiguous, then columns, rows.
constexpr LocalSize kGrids[] = {{4, 4, 4}, {8, 4, 4},  {4, 8, 4},   {8, 8, 1}, {8, 8, 4},
                                {2, 8, 4}, {16, 4, 1}, {16, 16, 1}, {32, 2, 1}};
// On a processor a work-group is a loop, so only its length matters.
constexpr LocalSize kProcessorLines[] = {{64, 1, 1}, {256, 1, 1}};
constexpr LocalSize kProcessorGrids[] = {{4, 4, 1}, {16, 4, 1}};

kernels::ClLaunch launch_with(const KernelInfo& kernel, const StepCase& item, const Tile& tile) {
  kernels::StepShape step = step_of(kernel, item);
  step.tile = tile.data();
  step.tile_count = static_cast<uint32_t>(tile.size());
  kernels::ClLaunch launch;
  kernels::launch_of(step, &launch);
  return launch;
}

Tile tile_with(const KernelInfo& kernel, const StepCase& item, const kernels::GpuFacts& gpu) {
  Tile tile(kernels::kMaxTileInts);
  tile.resize(kernels::choose_tile(step_of(kernel, item), gpu, tile.data()));
  return tile;
}

Tile tile_with(const KernelInfo& kernel, const StepCase& item, kernels::GpuFacts gpu,
               const LocalSize& size) {
  gpu.tiles.set_local_size(kernel, size.data());
  return tile_with(kernel, item, gpu);
}

LocalSize local_size(const kernels::ClLaunch& launch) {
  return {static_cast<int32_t>(launch.local[0]), static_cast<int32_t>(launch.local[1]),
          static_cast<int32_t>(launch.local[2])};
}

// Sums logarithms of speed-ups.
struct GeometricMean {
  double sum = 0;
  size_t count = 0;
  void add(double ratio) {
    sum += std::log(ratio);
    ++count;
  }
  double value() const { return count == 0 ? 0 : std::exp(sum / static_cast<double>(count)); }
};

std::string in_words(double gain) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %% %s", 100 * std::abs(gain - 1),
                gain < 1 ? "slower" : "faster");
  return text;
}

class LocalSearch {
 public:
  LocalSearch(const KernelInfo& kernel, const TileSearch& search, std::mt19937_64& random)
      : kernel_info_(kernel), search_(search), random_(random) {}

  std::optional<TileResult> find() {
    std::vector<LocalSize> candidates;
    std::vector<GeometricMean> gains;
    for (size_t i = 0; i < kSteps; ++i) {
      const std::optional<StepCase> item = draw();
      if (!item) return {};
      if (candidates.empty()) {
        candidates = candidates_for(*item);
        gains.resize(candidates.size());
      }
      if (!time(*item, candidates, &gains)) return {};
    }
    const size_t best =
        static_cast<size_t>(std::max_element(gains.begin(), gains.end(),
                                             [](const GeometricMean& a, const GeometricMean& b) {
                                               return a.value() < b.value();
                                             }) -
                            gains.begin());
    const double gain = gains[best].value();
    FoundTile found = {.kernel = &kernel_info_};
    found.local = {candidates[best].begin(), candidates[best].end()};
    const std::string name = name_of(found) + " is " + in_words(gain) + " on some steps";
    if (gain < kMinGain) return TileResult{{.kernel = &kernel_info_}, name};
    std::vector<GeometricMean> again(1);
    for (size_t i = 0; i < kSteps; ++i) {
      const std::optional<StepCase> item = draw();
      if (!item || !time(*item, {candidates[best]}, &again)) return {};
    }
    const double held_out = again[0].value();
    const std::string both = name + ", " + in_words(held_out) + " on others";
    if (held_out < kMinGain) return TileResult{{.kernel = &kernel_info_}, both};
    found.gain_percent = 100 * (held_out - 1);
    return TileResult{std::move(found), both};
  }

 private:
  // Draws a step whose work-groups follow the tile; a kernel's steps that share local memory do
  // not.
  std::optional<StepCase> draw() {
    for (int i = 0; i < kMaxDraws; ++i) {
      std::optional<StepCase> item = draw_step(kernel_info_, search_.limits, random_);
      if (!item) break;
      if (local_size(launch(*item, {2, 1, 1})) != local_size(launch(*item, {4, 1, 1}))) return item;
    }
    return {};
  }
  kernels::ClLaunch launch(const StepCase& item, const LocalSize& size) const {
    return launch_with(kernel_info_, item, tile_with(kernel_info_, item, search_.gpu, size));
  }

  std::vector<LocalSize> candidates_for(const StepCase& item) const {
    const LocalSize own =
        local_size(launch_with(kernel_info_, item, tile_with(kernel_info_, item, search_.gpu)));
    const bool is_line = local_size(launch(item, {2, 2, 1}))[1] == 1;
    std::vector<LocalSize> candidates;
    const auto add = [&](const auto& sizes) {
      for (const LocalSize& size : sizes)
        if (size != own && int64_t{size[0]} * size[1] * size[2] <= search_.most_items)
          candidates.push_back(size);
    };
    if (search_.is_processor)
      is_line ? add(kProcessorLines) : add(kProcessorGrids);
    else
      is_line ? add(kLines) : add(kGrids);
    return candidates;
  }

  // Returns false if it cannot go on.
  bool time(const StepCase& item, const std::vector<LocalSize>& candidates,
            std::vector<GeometricMean>* gains) const {
    if (search_.is_over()) return false;
    std::vector<Tile> tiles = {tile_with(kernel_info_, item, search_.gpu)};
    for (const LocalSize& size : candidates)
      tiles.push_back(tile_with(kernel_info_, item, search_.gpu, size));
    const std::vector<double> us = search_.times_us(kernel_info_, item, tiles);
    if (us.empty() || us[0] <= 0) return false;
    // A candidate that the device refuses once is dropped.
    for (size_t i = 0; i < candidates.size(); ++i)
      (*gains)[i].add(us[i + 1] > 0 ? us[0] / us[i + 1] : 1e-9);
    return true;
  }

  const KernelInfo& kernel_info_;
  const TileSearch& search_;
  std::mt19937_64& random_;
};

kernels::GemmSize gemm_size_of(const kernels::StepShape& step) {
  const OperandShape& x = step.operands[0];
  switch (step.kernel->op) {
    case OpKind::Conv2d:
      return kernels::conv2d_gemm_size(x, step.operands[1], step.output());
    case OpKind::MatMul:
      return {x.dims[0], step.output().dims[1], x.dims[1]};
    default:
      return kernels::batch_matmul_gemm_size(kernels::batch_matmul_work(
          step.params_as<BatchMatMulParams>(), x, step.operands[1], step.output()));
  }
}

// Returns the rates for which the tile's predicted times are nearest to the measured ones, among
// all that make one of the times exact. `sizes` and `us` are of whole steps.
kernels::TimedTile fitted_tile(const kernels::GemmTile& tile,
                               const std::vector<kernels::GemmSize>& sizes,
                               const std::vector<double>& us, int32_t units) {
  constexpr double kNever = 1e12;  // macs in a nanosecond, so that it takes no time
  kernels::TimedTile best;
  double least = HUGE_VAL;
  const auto error = [&](const kernels::TimedTile& timed) {
    double sum = 0;
    for (size_t i = 0; i < sizes.size(); ++i)
      sum += std::pow(std::log(kernels::predicted_ns(timed, sizes[i], units) / (1e3 * us[i])), 2);
    return sum;
  };
  for (int32_t residents = 1; residents <= 4; ++residents)
    for (size_t busy = 0; busy < sizes.size(); ++busy)
      for (size_t waiting = 0; waiting < sizes.size(); ++waiting) {
        const double busy_ns =
            kernels::predicted_ns({tile, 1, 1e-9, residents}, sizes[busy], units);
        const double waiting_ns =
            kernels::predicted_ns({tile, kNever, 1, residents}, sizes[waiting], units);
        const kernels::TimedTile timed = {tile, rounded(busy_ns / (1e3 * us[busy]), 4),
                                          rounded(1e3 * us[waiting] / waiting_ns, 4), residents};
        const double found = error(timed);
        if (found >= least) continue;
        least = found;
        best = timed;
      }
  return best;
}

class TableSearch {
 public:
  TableSearch(const KernelInfo& kernel, const TileSearch& search, std::mt19937_64& random)
      : kernel_info_(kernel), search_(search), random_(random) {}

  std::optional<TileResult> find() {
    const kernels::TimedTiles builtin = kernels::timed_gemm_tiles(search_.gpu);
    std::vector<Tile> tiles;
    for (uint32_t i = 0; i < builtin.count; ++i) tiles.push_back(numbers_of(builtin.tiles[i].tile));
    std::vector<kernels::GemmSize> sizes;
    std::vector<std::vector<double>> us(tiles.size());  // indexed by tile and step
    while (sizes.size() < kTableSteps) {
      const std::optional<StepCase> item = draw();
      if (!item || search_.is_over()) return {};
      const std::vector<double> times = search_.times_us(kernel_info_, *item, tiles);
      if (times.empty()) return {};
      sizes.push_back(gemm_size_of(step_of(kernel_info_, *item)));
      for (size_t i = 0; i < tiles.size(); ++i) us[i].push_back(times[i]);
    }
    FoundTile found = {.kernel = &kernel_info_};
    found.table.kernel_id = kernel_info_.id;
    for (size_t i = 0; i < tiles.size(); ++i)
      if (*std::min_element(us[i].begin(), us[i].end()) > 0)
        found.table.tiles[found.table.count++] =
            fitted_tile(builtin.tiles[i].tile, sizes, us[i], search_.gpu.units);
    if (found.table.count == 0) return {};
    GeometricMean gain;
    for (size_t step = 0; step < sizes.size(); ++step) {
      const auto time_of = [&](const kernels::TimedTiles& table) {
        const Tile chosen = numbers_of(fastest_gemm_tile(table, sizes[step], search_.gpu.units));
        const auto at = std::find(tiles.begin(), tiles.end(), chosen) - tiles.begin();
        return us[static_cast<size_t>(at)][step];
      };
      if (time_of(builtin) > 0) gain.add(time_of(builtin) / time_of(found.table));
    }
    return judge(std::move(found), gain.value());
  }

 private:
  static Tile numbers_of(const kernels::GemmTile& tile) {
    Tile numbers(kernels::kGemmTileInts);
    kernels::write_gemm_tile(tile, numbers.data());
    return numbers;
  }

  // Draws a whole step, because tiles are chosen by the whole.
  std::optional<StepCase> draw() {
    for (int i = 0; i < kMaxDraws; ++i) {
      std::optional<StepCase> item = draw_step(kernel_info_, search_.limits, random_);
      if (!item || item->part_dim == SplitDim::None) return item;
    }
    return {};
  }

  std::optional<TileResult> judge(FoundTile found, double gain) {
    const std::string some = "rates of its own make it " + in_words(gain) + " on some steps";
    if (gain < kMinGain) return TileResult{{.kernel = &kernel_info_}, some};
    kernels::GpuFacts own = search_.gpu;
    own.tiles.set_table(found.table);
    GeometricMean again;
    while (again.count < kSteps) {
      const std::optional<StepCase> item = draw();
      if (!item || search_.is_over()) return {};
      const Tile before = tile_with(kernel_info_, *item, search_.gpu);
      const Tile after = tile_with(kernel_info_, *item, own);
      const std::vector<double> us = before == after
                                         ? std::vector<double>{1, 1}
                                         : search_.times_us(kernel_info_, *item, {before, after});
      if (us.empty() || us[0] <= 0) return {};
      again.add(us[1] > 0 ? us[0] / us[1] : 1e-9);
    }
    const std::string both = some + ", " + in_words(again.value()) + " on others";
    if (again.value() < kMinGain) return TileResult{{.kernel = &kernel_info_}, both};
    found.gain_percent = 100 * (again.value() - 1);
    return TileResult{std::move(found), both};
  }

  const KernelInfo& kernel_info_;
  const TileSearch& search_;
  std::mt19937_64& random_;
};

}  // namespace

bool has_tiles_to_try(const KernelInfo& kernel, const TileSearch& search) {
  const kernels::TileKind kind = kernels::tile_kind_of(kernel);
  // A processor has no local memory, so kernels with tiles in it are not for it.
  return kind == kernels::TileKind::Local ||
         (kind == kernels::TileKind::Gemm && !search.is_processor);
}

std::optional<TileResult> find_tile(const KernelInfo& kernel, const TileSearch& search,
                                    std::mt19937_64& random) {
  if (!has_tiles_to_try(kernel, search)) return {};
  return kernels::tile_kind_of(kernel) == kernels::TileKind::Gemm
             ? TableSearch(kernel, search, random).find()
             : LocalSearch(kernel, search, random).find();
}

}  // namespace codl::profiler
