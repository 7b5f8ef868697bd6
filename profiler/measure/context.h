// Measures effects that steps timed one by one do not show. It runs small networks on each
// processor alone and cut between both at several ratios, as a plan does. Their whole times give
// the cost of synchronisations and of each processor beside the other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/measure/measured_processor.h"

namespace codl::profiler {

// Holds times of a network that is cut so that the GPU computes `gpu_share` of each layer. They are
// medians in microseconds.
struct ContextRun {
  std::string network;
  double gpu_share = 0;
  // Each layer has the time of a processor's part while the other is idle. The GPU's excludes
  // giving it the work and waiting for it.
  std::vector<double> cpu_us;
  std::vector<double> gpu_us;
  // Both run at once and wait for each other after every layer: the CPU's parts, and the whole.
  double cpu_beside_us = 0;
  double whole_us = 0;
  // The bytes that each processor reads from memory per layer; 0: they are in caches.
  double cpu_memory_bytes = 0;
  double gpu_memory_bytes = 0;
};

struct Context {
  // Says how much longer a part takes while the other processor is busy, in percent.
  double cpu_contention_percent = 0;
  double gpu_contention_percent = 0;
  double memory_gb_per_s = 0;       // that both get together; 0: all they ask for
  double sync_us = 0;               // a layer takes this in addition, there and back
  double median_error_percent = 0;  // error of the predicted whole times
};

struct ContextOptions {
  double idle_sync_us = 0;         // time to give work to an idle GPU and see it done
  std::function<double()> now_us;  // the clock
  std::function<bool()> is_over;   // if true, no further network begins
};

// Runs pointwise and depthwise convolutions, convolutions of 3 x 3, joined maps, and products with
// large weights, in caches and in memory. Networks that a processor cannot hold are left out.
std::vector<ContextRun> run_context_networks(MeasuredProcessor& cpu, MeasuredProcessor& gpu,
                                             const ContextOptions& options);

// Microseconds of the CPU's parts and of the whole run, as these numbers predict them: both
// processors run side by side, slowed down, until one is done, and the other goes on alone.
struct ContextTimes {
  double cpu_us = 0;
  double whole_us = 0;
};
ContextTimes predict_run(const ContextRun& run, const Context& context);

// Returns the numbers that predict the runs best, by the sum of squares of relative errors. Runs
// that read memory fit the bandwidth, all others the rest. A synchronisation takes no less than
// `idle_sync_us`. Returns nothing without runs.
std::optional<Context> fit_context(const std::vector<ContextRun>& runs, double idle_sync_us);

}  // namespace codl::profiler
