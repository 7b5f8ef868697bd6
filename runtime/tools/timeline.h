// Holds the step times of one run: how busy each queue was, and a trace to look at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codl/codl.hpp"

namespace codl::tools {

inline constexpr size_t kQueueCount = 3;
inline constexpr std::array<const char*, kQueueCount> kQueueNames = {"cpu", "gpu", "transfer"};

using Timeline = std::vector<codl_step_time_t>;  // the plan owns the names

// Returns a copy of the last run's timeline.
Timeline timeline_of(const Session& session);

struct QueueTimes {
  size_t step_count = 0;
  double busy_us = 0;  // time in which at least one of the queue's steps ran
  double idle_us = 0;  // the rest of the run
};

struct RunTimes {
  double wall_us = 0;     // from the first step's start to the last step's end
  double overlap_us = 0;  // time in which the CPU queue and the GPU queue were both busy
  std::array<QueueTimes, kQueueCount> queues;
};

RunTimes run_times_of(const Timeline& timeline);

// Microseconds from when each GPU kernel was enqueued until it was done, in the run's order: so
// long would a request of another program wait that came right behind it, where the GPU serves in
// order of request. Where steps are enqueued behind user events it is also what they wait for.
std::vector<double> slices_us_of(const Timeline& timeline);

// A line per processor that has steps, of `columns` equal parts of the run: '#' where it was busy
// for half of the part or more, '.' for less, ' ' where it was idle.
std::string text_timeline(const Timeline& timeline, int32_t columns);

// Trace Event Format, as chrome://tracing and Perfetto read it: one track per queue that has steps.
std::string chrome_trace(const Timeline& timeline, const std::string& title);

}  // namespace codl::tools
