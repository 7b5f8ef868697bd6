// Describes a processor that steps are timed on: the CPU's workers, or an OpenCL device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "profiler/measure/step_case.h"
#include "runtime/src/cpu_pool.h"

namespace codl::profiler {

// Other steps of a network bring so many bytes into the core's caches meanwhile: more than a
// second-level cache holds.
inline constexpr size_t kOtherBytes = size_t{4} << 20;
// Bytes that a step of a network reads and writes, most of them weights.
inline constexpr size_t kUsualStepBytes = size_t{1} << 20;
// Bounds the steps in memory at once, apart from the largest.
inline constexpr size_t kArenaBytes = size_t{512} << 20;
// With so many bytes of operands in memory, no further step is prepared.
inline constexpr size_t kBatchBytes = size_t{384} << 20;
// A step begins at a huge page.
inline constexpr size_t kStepAlignment = size_t{2} << 20;

// Longer steps do not show whether the kernel's code is in a cache.
inline constexpr double kShortStepUs = 500;

inline double micros_since(int64_t start_ns) {
  return static_cast<double>(rt::now_ns() - start_ns) / 1000;
}

// Holds a step with its operands in memory, ready to run as often as wanted.
class PreparedStep {
 public:
  virtual ~PreparedStep() = default;
  // Runs once, or several times if the clock is too coarse, with the caches as a network leaves
  // them between two steps. Returns microseconds, in the mean. Throws ToolError if the device
  // fails.
  virtual double run_us() = 0;
  // Runs once with the caches as they are, as load for the other processor. Returns at once (GPU)
  // or when it is done (CPU).
  virtual void start() = 0;
};

class MeasuredProcessor {
 public:
  virtual ~MeasuredProcessor() = default;
  virtual Processor processor() const = 0;
  // Returns null if the device cannot hold the operands. They lie as in a plan's arena, always at
  // the same place, because the position of pages changes a step's time more than its runs differ.
  virtual std::unique_ptr<PreparedStep> prepare(const KernelInfo& kernel, const StepCase& item) = 0;
  // Runs a fixed number of multiply-adds on the whole processor, to see its present clock. Returns
  // microseconds.
  virtual double probe_us() = 0;
  // Returns a measure, without unit, of the load by other programs on the processor's cores:
  // usually constant, higher while they run. 1 if it is unknown.
  virtual double crowding() { return 1; }
  // Waits until everything started is done.
  virtual void finish() = 0;
};

}  // namespace codl::profiler
