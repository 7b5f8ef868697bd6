#include "profiler/measure/context.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/cost/transfer.h"
#include "profiler/fit/fit.h"
#include "profiler/measure/context_networks.h"

namespace codl::profiler {
namespace {

constexpr double kGpuShares[] = {0.25, 0.5, 0.75};
constexpr int kNetworkRounds = 7;
constexpr double kMaxContention = 3;  // a part may take three times as long beside the other
constexpr double kCoarse = 0.05;
constexpr double kFine = 0.005;
constexpr int kMemoryRates = 100;  // number that are tried

struct PreparedLayer {
  std::unique_ptr<PreparedStep> cpu;
  std::unique_ptr<PreparedStep> gpu;
};

// Returns nothing if a processor cannot hold a step.
std::vector<PreparedLayer> prepare_layers(MeasuredProcessor& cpu, MeasuredProcessor& gpu,
                                          const ContextNetwork& network, double gpu_share) {
  std::vector<PreparedLayer> layers;
  for (const ContextLayer& layer : layers_of(network, gpu_share)) {
    PreparedLayer own = {cpu.prepare(*layer.cpu_row, layer.cpu),
                         gpu.prepare(*layer.gpu_row, layer.gpu)};
    if (!own.cpu || !own.gpu) return {};
    layers.push_back(std::move(own));
  }
  return layers;
}

// Runs a cut network in rounds: the CPU's parts, the GPU's, and both at once, in turns.
class CutNetwork {
 public:
  CutNetwork(std::vector<PreparedLayer> layers, MeasuredProcessor& gpu,
             const ContextOptions& options)
      : layers_(std::move(layers)),
        gpu_(gpu),
        options_(options),
        cpu_us_(layers_.size()),
        gpu_us_(layers_.size()) {}

  void round() {
    for (size_t i = 0; i < layers_.size(); ++i) cpu_us_[i].push_back(time_cpu(layers_[i]));
    for (size_t i = 0; i < layers_.size(); ++i) {
      const double start_us = options_.now_us();
      layers_[i].gpu->start();
      gpu_.finish();
      gpu_us_[i].push_back(std::max(options_.now_us() - start_us - options_.idle_sync_us, 0.0));
    }
    double cpu_us = 0;
    const double start_us = options_.now_us();
    for (const PreparedLayer& layer : layers_) {
      layer.gpu->start();
      cpu_us += time_cpu(layer);
      gpu_.finish();
    }
    whole_us_.push_back(options_.now_us() - start_us);
    cpu_beside_us_.push_back(cpu_us);
  }

  ContextRun result(const ContextNetwork& network, double gpu_share) const {
    ContextRun run;
    run.network = network.name;
    run.gpu_share = gpu_share;
    run.cpu_beside_us = quantile(cpu_beside_us_, 0.5);
    run.whole_us = quantile(whole_us_, 0.5);
    const ContextLayer layer = layers_of(network, gpu_share).front();
    run.cpu_memory_bytes = layer.cpu_memory_bytes;
    run.gpu_memory_bytes = layer.gpu_memory_bytes;
    for (size_t i = 0; i < layers_.size(); ++i) {
      run.cpu_us.push_back(quantile(cpu_us_[i], 0.5));
      run.gpu_us.push_back(quantile(gpu_us_[i], 0.5));
    }
    return run;
  }

 private:
  double time_cpu(const PreparedLayer& layer) const {
    const double start_us = options_.now_us();
    layer.cpu->start();
    return options_.now_us() - start_us;
  }

  std::vector<PreparedLayer> layers_;
  MeasuredProcessor& gpu_;
  const ContextOptions& options_;
  std::vector<std::vector<double>> cpu_us_;  // indexed by layer and round
  std::vector<std::vector<double>> gpu_us_;
  std::vector<double> cpu_beside_us_;
  std::vector<double> whole_us_;
};

double square(double value) { return value * value; }

// Returns the best synchronisation time for the given contention.
double best_sync_us(const std::vector<ContextRun>& runs, Context context, double least_us) {
  context.sync_us = 0;
  double product = 0;
  double weight = 0;
  for (const ContextRun& run : runs) {
    const double share = static_cast<double>(run.cpu_us.size()) / run.whole_us;
    product += share * (1 - predict_run(run, context).whole_us / run.whole_us);
    weight += share * share;
  }
  return std::max(product / weight, least_us);
}

double error_of(const std::vector<ContextRun>& runs, const Context& context) {
  double sum = 0;
  for (const ContextRun& run : runs) {
    const ContextTimes times = predict_run(run, context);
    sum += square(times.whole_us / run.whole_us - 1) + square(times.cpu_us / run.cpu_beside_us - 1);
  }
  return sum;
}

// Returns the best numbers of a grid around the given ones.
Context best_around(const std::vector<ContextRun>& runs, const Context& middle, double reach,
                    double step, double idle_sync_us) {
  Context best = middle;
  double least = INFINITY;
  const int count = static_cast<int>(std::lround(reach / step));
  const auto near = [&](double percent, int i) {
    return std::clamp(percent + 100 * step * i, 0.0, 100 * kMaxContention);
  };
  for (int i = -count; i <= count; ++i)
    for (int j = -count; j <= count; ++j) {
      Context context;
      context.cpu_contention_percent = near(middle.cpu_contention_percent, i);
      context.gpu_contention_percent = near(middle.gpu_contention_percent, j);
      context.sync_us = best_sync_us(runs, context, idle_sync_us);
      const double error = error_of(runs, context);
      if (error >= least) continue;
      least = error;
      best = context;
    }
  return best;
}

// Returns the bandwidth that best predicts runs which read memory; 0 without such runs.
double best_memory_gb_per_s(const std::vector<ContextRun>& runs, Context context) {
  double most = 0;  // demand of both together
  for (const ContextRun& run : runs)
    for (size_t i = 0; i < run.cpu_us.size(); ++i)
      most = std::max(most, compiler::memory_demand(run.cpu_memory_bytes, run.cpu_us[i]) +
                                compiler::memory_demand(run.gpu_memory_bytes, run.gpu_us[i]));
  double best = 0;
  double least = INFINITY;
  for (int i = kMemoryRates; most > 0 && i > 0; --i) {
    context.memory_gb_per_s = most * i / kMemoryRates;
    const double error = error_of(runs, context);
    if (error >= least) continue;
    least = error;
    best = context.memory_gb_per_s;
  }
  return best;
}

}  // namespace

std::vector<ContextRun> run_context_networks(MeasuredProcessor& cpu, MeasuredProcessor& gpu,
                                             const ContextOptions& options) {
  std::vector<ContextRun> runs;
  for (const ContextNetwork& network : kContextNetworks)
    for (const double gpu_share : kGpuShares) {
      if (options.is_over()) return runs;
      std::vector<PreparedLayer> layers = prepare_layers(cpu, gpu, network, gpu_share);
      if (layers.empty()) continue;
      CutNetwork cut(std::move(layers), gpu, options);
      for (int round = 0; round < kNetworkRounds; ++round) cut.round();
      runs.push_back(cut.result(network, gpu_share));
    }
  return runs;
}

ContextTimes predict_run(const ContextRun& run, const Context& context) {
  ContextTimes times;
  for (size_t i = 0; i < run.cpu_us.size(); ++i) {
    const double cpu_rate = compiler::memory_demand(run.cpu_memory_bytes, run.cpu_us[i]);
    const double gpu_rate = compiler::memory_demand(run.gpu_memory_bytes, run.gpu_us[i]);
    const double memory = compiler::memory_slow_down(context.memory_gb_per_s, cpu_rate, gpu_rate);
    const double cpu_factor = memory * (1 + context.cpu_contention_percent / 100);
    const double gpu_factor = memory * (1 + context.gpu_contention_percent / 100);
    const double both_us = std::min(run.cpu_us[i] * cpu_factor, run.gpu_us[i] * gpu_factor);
    const double cpu_us = both_us + run.cpu_us[i] - both_us / cpu_factor;
    const double gpu_us = both_us + run.gpu_us[i] - both_us / gpu_factor;
    times.cpu_us += cpu_us;
    times.whole_us += std::max(cpu_us, gpu_us) + context.sync_us;
  }
  return times;
}

std::optional<Context> fit_context(const std::vector<ContextRun>& all, double idle_sync_us) {
  std::vector<ContextRun> runs, streams;
  for (const ContextRun& run : all)
    (run.cpu_memory_bytes + run.gpu_memory_bytes > 0 ? streams : runs).push_back(run);
  if (runs.empty()) return std::nullopt;
  Context context;
  context.cpu_contention_percent = context.gpu_contention_percent = 100 * kMaxContention / 2;
  context = best_around(runs, context, kMaxContention / 2, kCoarse, idle_sync_us);
  context = best_around(runs, context, kCoarse, kFine, idle_sync_us);
  context.memory_gb_per_s = best_memory_gb_per_s(streams, context);
  std::vector<double> errors;
  for (const ContextRun& run : all)
    errors.push_back(100 * std::abs(predict_run(run, context).whole_us / run.whole_us - 1));
  context.median_error_percent = quantile(errors, 0.5);
  return context;
}

}  // namespace codl::profiler
