// What steps that are timed one by one do not show: small networks on each processor alone and cut
// between both at several ratios, as a plan runs them, and what their whole times say of
// synchronisations and of each processor beside the other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/measure/measured_processor.h"

namespace codl::profiler {

// Of a network cut so that the GPU computes `gpu_share` of each layer. Microseconds, medians.
struct ContextRun {
  std::string network;
  double gpu_share = 0;
  // By layer: what each processor takes for its part while the other has nothing to do, the GPU
  // without what it takes to give it the work and to see it done.
  std::vector<double> cpu_us;
  std::vector<double> gpu_us;
  // Both at once, waiting for each other behind every layer: the CPU's parts, and all of it.
  double cpu_beside_us = 0;
  double whole_us = 0;
  // What each reads of the memory for a layer; 0: it is in caches.
  double cpu_memory_bytes = 0;
  double gpu_memory_bytes = 0;
};

struct Context {
  // By how much a part takes longer while the other processor is busy, in percent.
  double cpu_contention_percent = 0;
  double gpu_contention_percent = 0;
  double memory_gb_per_s = 0;       // that both get together; 0: as much as they ask for
  double sync_us = 0;               // of each layer beside that: there and back
  double median_error_percent = 0;  // of the whole times that these give
};

struct ContextOptions {
  double idle_sync_us = 0;         // what giving work to an idle GPU and seeing it done takes
  std::function<double()> now_us;  // the clock
  std::function<bool()> is_over;   // no further network; those begun are finished
};

// Pointwise and depthwise convolutions, convolutions of 3 x 3, joined maps, and products with large
// weights, in caches and in memory. Networks that a processor cannot hold are left out.
std::vector<ContextRun> run_context_networks(MeasuredProcessor& cpu, MeasuredProcessor& gpu,
                                             const ContextOptions& options);

// Microseconds of the CPU's parts and of the whole run, as these numbers give them: what both have
// to do runs side by side until one is done, slowed down, and the rest alone.
struct ContextTimes {
  double cpu_us = 0;
  double whole_us = 0;
};
ContextTimes predict_run(const ContextRun& run, const Context& context);

// The numbers that predict the runs best, by the sum of squares of relative errors: the memory's by
// the runs that read it, all others by the rest. A synchronisation takes no less than
// `idle_sync_us`. Nothing without runs.
std::optional<Context> fit_context(const std::vector<ContextRun>& runs, double idle_sync_us);

}  // namespace codl::profiler
