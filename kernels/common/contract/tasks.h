// Cuts a CPU step into tasks, by the same arithmetic in the contract (how many) and in the kernel
// (which piece is mine).
#pragma once

#include <cstdint>

#include "schema/plan_layout.h"

namespace codl::kernels {

// A step of fewer elements is one task: at a few elements per nanosecond it is done before another
// core has taken a piece (tens of nanoseconds to pass a cache line, tens of microseconds to wake).
inline constexpr int64_t kSmallStepElements = 16384;
// Eight workers get four each, so that a slow worker leaves little undone.
inline constexpr int64_t kMaxTasks = 32;

// Tasks for a step made of `unit_count` pieces that may be computed in any order and touches
// `work_elements` elements in all.
constexpr int32_t task_count_for(int64_t unit_count, int64_t work_elements) {
  if (work_elements < kSmallStepElements) return 1;
  return static_cast<int32_t>(unit_count < kMaxTasks ? unit_count : kMaxTasks);
}

struct Units {
  int64_t begin;
  int64_t end;
};

// Returns the pieces that tasks [task_begin, task_end) of `task_count` compute.
constexpr Units units_of_tasks(int64_t unit_count, int32_t task_count, int32_t task_begin,
                               int32_t task_end) {
  return {unit_count * task_begin / task_count, unit_count * task_end / task_count};
}

// Says how fast the workers of the CPU queue are, relative to each other.
struct WorkerSpeeds {
  int32_t count = 1;
  const uint16_t* speeds = nullptr;  // one per worker, 1 to kFullSpeed; null if all are alike

  constexpr int64_t of(int32_t worker) const {
    return speeds == nullptr ? kFullSpeed : speeds[worker];
  }
  constexpr int64_t sum() const {
    int64_t sum = 0;
    for (int32_t worker = 0; worker < count; ++worker) sum += of(worker);
    return sum;
  }
};

// Returns how many tasks the workers before one have, whose speeds add up to `speed_before` out of
// `speed_sum`: there its share begins, and that of the worker before it ends. If all workers are
// alike, task_count * worker / count.
constexpr int64_t tasks_before(int64_t task_count, int64_t speed_before, int64_t speed_sum) {
  return task_count * speed_before / speed_sum;
}

}  // namespace codl::kernels
