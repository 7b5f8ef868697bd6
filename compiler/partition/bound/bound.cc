#include "compiler/partition/bound/bound.h"

#include <algorithm>
#include <limits>

#include "compiler/partition/bound/ordered_bound.h"
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
constexpr int32_t kMaxCuts = 24;
constexpr int kWeights = 64;

void add_splits(const CostModel& costs, ir::NodeId node, SplitDim dim, std::vector<Share>& shares) {
  const std::optional<SplitRule>& rule = costs.split_rule(node, dim);
  if (!rule) return;
  const int32_t granules = static_cast<int32_t>(ceil_div(rule->extent, rule->granularity));
  const int32_t stride = std::max(1, static_cast<int32_t>(ceil_div(granules - 1, kMaxCuts)));
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

// How much of a processor's work, in microseconds alone, is done in one of the clock.
struct Rates {
  double alone[2];  // by processor, the other one idle
  double both[2];   // both at work
};

Rates rates_of(const DeviceProfile& profile) {
  Rates rates{};
  double interference[2];
  for (size_t i = 0; i < 2; ++i) interference[i] = profile.interference_percent[i].value / 100;
  for (size_t i = 0; i < 2; ++i) {
    rates.alone[i] = 1 / (1 + interference[i]);
    const double contention = profile.transfer.contention_percent[i].value / 100;
    rates.both[i] = 1 / ((1 + interference[0] + interference[1]) * (1 + contention));
  }
  return rates;
}

// The most of `cpu` times the CPU's work and `gpu` times the GPU's that one microsecond does.
double most_per_us(const Rates& rates, double cpu, double gpu) {
  return std::max(
      {cpu * rates.alone[0], gpu * rates.alone[1], cpu * rates.both[0] + gpu * rates.both[1]});
}

// Of a plan that uses the GPU: how long that has nothing to compute. It is given its first work by
// a node that reads the application's memory, and a node that writes that waits for its last;
// either is on the CPU.
double gpu_idle_us(const CostModel& costs) {
  const ir::Graph& graph = costs.graph();
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double first_us = kNone, last_us = kNone;
  for (ir::NodeId node = 0; node < graph.nodes().size(); ++node) {
    const auto cpu = costs.whole(node, Processor::Cpu);
    const double us = cpu ? cpu->compute_us : 0;
    for (ir::ValueId input : graph.node(node).inputs)
      if (graph.value(input).is_input) first_us = std::min(first_us, us);
    if (graph.is_output(graph.node(node).output)) last_us = std::min(last_us, us);
  }
  // What kinds of synchronisations take, where the profile knows them, is not counted.
  const TransferCosts& transfer = costs.profile().transfer;
  const double sync_us = transfer.host ? 0 : transfer.sync_us.value;
  return (first_us < kNone ? first_us + sync_us : 0) + (last_us < kNone ? last_us + sync_us : 0);
}

// Of all nodes on the CPU; infinite where that cannot be.
double cpu_alone_us(const CostModel& costs) {
  double us = 0;
  for (ir::NodeId node = 0; node < costs.graph().nodes().size(); ++node) {
    const auto cpu = costs.whole(node, Processor::Cpu);
    if (!cpu) return std::numeric_limits<double>::infinity();
    us += cpu->compute_us;
  }
  return us;
}

// Whatever the order.
double unordered_bound_us(const CostModel& costs) {
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
  const Rates rates = rates_of(costs.profile());
  const double idle_us = gpu_idle_us(costs);
  double bound_us = 0;  // of plans that use the GPU
  for (int i = 0; i <= kWeights; ++i) {
    const double weight = static_cast<double>(i) / kWeights;
    const double most = most_per_us(rates, weight, 1 - weight);
    // What the CPU does while the GPU is idle is less than both can do in that time.
    const double left = sums[static_cast<size_t>(i)] - weight * rates.alone[0] * idle_us;
    bound_us = std::max(bound_us, idle_us + left / most);
  }
  return bound_us;
}

}  // namespace

double lower_bound_us(const CostModel& costs, int32_t max_chain, bool hands_over) {
  return std::min(
      std::max(unordered_bound_us(costs), ordered_bound_us(costs, max_chain, hands_over)),
      cpu_alone_us(costs));
}

}  // namespace codl::compiler
