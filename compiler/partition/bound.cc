#include "compiler/partition/bound.h"

#include <algorithm>

#include "compiler/partition/split_geometry.h"

namespace codl::compiler {
namespace {

// What a way to share a node asks of each processor.
struct Share {
  double cpu_us = 0;
  double gpu_us = 0;
};

// Cuts of a dim that are looked at: more make the bound tighter, by less than their number's
// inverse.
constexpr int32_t kMostCuts = 24;
constexpr int kWeights = 64;

void add_splits(const CostModel& costs, ir::NodeId node, SplitDim dim, std::vector<Share>& shares) {
  const std::optional<SplitRule> rule = split_rule({costs.graph(), costs.graph().node(node)}, dim);
  if (!rule) return;
  const int32_t granules = static_cast<int32_t>(ceil_div(rule->extent, rule->granularity));
  const int32_t stride = std::max(1, static_cast<int32_t>(ceil_div(granules - 1, kMostCuts)));
  for (int32_t first = 1; first < granules; first += stride) {
    const int32_t last = std::min(first + stride, granules) - 1;
    // The GPU has at least `first` granules, the CPU at least those behind `last`.
    const auto gpu_us = costs.part_us(node, Processor::Gpu, dim, {0, first * rule->granularity});
    const auto cpu_us =
        costs.part_us(node, Processor::Cpu, dim, {last * rule->granularity, rule->extent});
    if (gpu_us && cpu_us) shares.push_back({*cpu_us, *gpu_us});
  }
}

std::vector<Share> shares_of(const CostModel& costs, ir::NodeId node) {
  std::vector<Share> shares;
  if (const auto cpu = costs.whole(node, Processor::Cpu)) shares.push_back({cpu->compute_us, 0});
  for (Layout maps : costs.gpu_maps())
    if (const auto gpu = costs.whole(node, Processor::Gpu, maps))
      shares.push_back({0, gpu->compute_us});
  for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
    add_splits(costs, node, dim, shares);
  return shares;
}

}  // namespace

double lower_bound_us(const CostModel& costs) {
  std::vector<double> sums(kWeights + 1, 0.0);
  for (ir::NodeId node = 0; node < costs.graph().nodes().size(); ++node) {
    const std::vector<Share> shares = shares_of(costs, node);
    if (shares.empty()) continue;
    for (int i = 0; i <= kWeights; ++i) {
      const double weight = static_cast<double>(i) / kWeights;
      double least = weight * shares.front().cpu_us + (1 - weight) * shares.front().gpu_us;
      for (const Share& share : shares)
        least = std::min(least, weight * share.cpu_us + (1 - weight) * share.gpu_us);
      sums[static_cast<size_t>(i)] += least;
    }
  }
  return *std::max_element(sums.begin(), sums.end());
}

}  // namespace codl::compiler
