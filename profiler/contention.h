// What computing on both lanes at once costs each of them.
#pragma once

#include <optional>
#include <span>

#include "profiler/lane.h"
#include "profiler/sample.h"

namespace codl::profiler {

// How much slower a lane's steps are while the other lane is busy, in percent.
struct Contention {
  double cpu_percent = 0;
  double gpu_percent = 0;
};

// Times some of the samples' steps again, in turns alone and beside the other lane, which runs its
// own in turns: as in a plan, what they read is mostly not in its caches and passes through what
// both lanes share. Nothing where a lane has no step to time.
std::optional<Contention> measure_contention(Lane& cpu, Lane& gpu, std::span<const Sample> samples);

}  // namespace codl::profiler
