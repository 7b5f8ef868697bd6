// Runs steps on queues in virtual time, for plans and replays of codl-sim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "llvm/ADT/ArrayRef.h"
#include "schema/plan.h"

namespace codl::compiler {

inline constexpr uint8_t kNoQueue = UINT8_MAX;
inline constexpr auto kHostQueue = static_cast<size_t>(Queue::Cpu);
inline constexpr auto kGpuQueue = static_cast<size_t>(Queue::Gpu);

// A step waits `us` from the end of an earlier step, of any queue, to its own start.
struct QueueWait {
  uint32_t step = 0;
  double us = 0;
};

// Describes one step of a queue. A queue runs its steps in the order given.
struct QueueStep {
  uint8_t queue = 0;    // codl::Queue
  double alone_us = 0;  // time at full speed, with nothing else running
  // Counts from the end of the last step that it waits for, or the begin of the run, to its start.
  double synchronisation_us = 0;
  double launch_us = 0;     // wall time that the host needs to enqueue it, in addition
  double memory_bytes = 0;  // bytes moved to and from the memory that both processors share
  double open = 1;          // open part of alone_us: LearnedSteps::Correction
  std::vector<QueueWait> waits;
  std::string name;
  const char* kernel = "transfer";
  // For a call that gives another queue its next step, says which queue, and the time of the call
  // if that queue has done all it was given. A call takes wall time only.
  uint8_t called_queue = kNoQueue;
  double idle_us = 0;
};

// Describes other load on the device.
struct SimulatedLoad {
  double cpu_percent = 0;        // share of the CPU queue's time that others take, 0 to 90
  double gpu_frame_percent = 0;  // share of the GPU's time that drawing takes, 0 to 90
};

// Wall counts what a user waits. Codl counts latencies as the CoDL paper does, from times of
// kernels, maps and waits, without what it takes the host to enqueue.
enum class Clock { Wall, Codl };

struct Timeline {
  struct Span {
    double start_us = 0;
    double end_us = 0;
  };
  double total_us = 0;
  double busy_us[kQueueCount] = {};
  double overlap_us = 0;    // time with CPU and GPU both busy
  std::vector<Span> spans;  // indexed by step

  // Returns the energy of the whole run. The profile must have power figures. A queue draws its
  // power while it is busy.
  double energy_j(const PowerFigures& power) const;
};

// Runs the queues from event to event. A step is slower by the profile's percentage for as long as
// the other processor computes too.
Timeline run_queues(llvm::ArrayRef<QueueStep> steps, const DeviceProfile& profile,
                    const SimulatedLoad& load, Clock clock);

// Writes a Chrome trace in JSON as codl-bench --trace does; `name` is the process's.
std::string chrome_trace(llvm::StringRef name, llvm::ArrayRef<QueueStep> steps,
                         const Timeline& timeline);

}  // namespace codl::compiler
