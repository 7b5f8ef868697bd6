// Measures facts of the machine by loops of some milliseconds each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "profiler/fit/machine_facts.h"
#include "profiler/measure/measured_cpu.h"
#include "profiler/measure/measured_gpu.h"

namespace codl::profiler {

inline constexpr double kKb = 1024;  // bytes

// Sizes in KiB; 0: there is no such cache, or it is not known.
struct CacheSizes {
  double l1_kb = 0;  // data cache only
  double l2_kb = 0;
  double last_level_kb = 0;  // beyond the second level
};

// Reads the sizes of a core's caches from Linux's .../cpu<N>/cache.
CacheSizes read_cache_sizes(const std::string& folder);

// Finds the sizes at which the time of a load rises. `curve` has ascending KiB that are read again
// and again, and the nanoseconds of a load.
CacheSizes cache_steps(const std::vector<std::pair<double, double>>& curve);

// Measures the core of the processor's first worker, and all workers together.
void measure_cpu_machine(MeasuredCpu& processor, MachineFacts* facts);
// Measures the GPU after the CPU, whose facts also hold for OpenCL on a processor. time_transfers()
// measures launch_us.
void measure_gpu_machine(MeasuredGpu& processor, MachineFacts* facts);

// Returns the time of a load that misses every cache, when a core waits for each one.
double memory_latency_ns(double last_cache_kb);

// The facts that are not measured have these origins.
inline constexpr double kAssumedHalfRate = 2;  // assumed for every processor with half arithmetic
inline constexpr double kAssumedByteRate = 4;  // assumed where there are dot products of four bytes
inline constexpr char kMachineRules[] =
    "no call tells these. Halves go at twice the rate of floats where there is arithmetic of them, "
    "bytes at four times where there are dot products of four. "
    "Of a GPU: a unit holds 2048 work-items and 256 KiB of registers, or 1024 "
    "and 128 KiB where it shares the host's memory; a work-item has the registers that makers and "
    "drivers publish; a clock that OpenCL does not tell is that of "
    "multiply-adds of 4 cycles; no cache of the system, none of its own for images. OpenCL on a "
    "processor: registers by the vectors' width, a core's rates times the units";

}  // namespace codl::profiler
