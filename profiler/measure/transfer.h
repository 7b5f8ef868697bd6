// Times synchronisations and transfers between the processors as a replay pays for them
// (runtime/src/executor.cc): commands without profiling, copies that do not block, waits that poll.
#pragma once

#include <string>
#include <vector>

#include "profiler/measure/measured_cpu.h"
#include "profiler/measure/measured_gpu.h"

namespace codl::profiler {

// Describes us = fixed_us + us_per_mb * MB; MB = 1e6 bytes.
struct TransferLine {
  double fixed_us = 0;
  double us_per_mb = 0;
};

// Holds times of a copy between two memories: the host's call, and the rest after it returns.
struct CopyTimes {
  TransferLine call;
  TransferLine rest;
};

struct TransferTimes {
  double launch_us = 0;    // time of an empty kernel in a full queue
  double enqueue_us = 0;   // the host's call to enqueue a kernel, after others
  double submit_us = 0;    // the same in an idle queue with a flush: may wake a thread
  double recorded_us = 0;  // a kernel's part in the call that gives a recording; 0: there are none
  double start_us = 0;     // from the call's end to the start of the command, in an idle queue
  double wake_us = 0;      // from a command's end to the host that polls for it
  double queue_us = 0;     // from a command's end to the start of one in the other queue
  double flag_us = 0;      // a wait by flag, in either direction; 0: it is by event
  TransferLine map;        // map and unmap of a buffer in host memory
  CopyTimes upload;
  CopyTimes download;
  // Says how much longer the CPU's first step takes after one of the GPU, by the bytes that it
  // reads: its workers sleep, and another processor has the data.
  TransferLine cpu_resume;
  // Says how much longer a GPU kernel takes after a step of the CPU, by the bytes that it reads; 0
  // if the memories are separate.
  double gpu_cold_us_per_mb = 0;
  // True if a call that enqueues a download returns only when the kernel that it waits for is done.
  bool download_call_waits = false;

  // Time to give away work and see its end, in one direction: half of there and back.
  double sync_us() const { return (submit_us + start_us + wake_us) / 2; }
};

// Holds a median of several rounds. It is kept with the samples, so that TransferTimes can be
// derived again.
struct TransferPoint {
  std::string name;
  double bytes = 0;
  double us = 0;
};

// `cpu_cores` are the CPU's workers'.
std::vector<TransferPoint> time_transfers(MeasuredGpu& processor, MeasuredCpu& cpu,
                                          const std::vector<int32_t>& cpu_cores);

// Derives the times from the points. It is a pure function; missing points count as 0.
TransferTimes transfer_times_of(const std::vector<TransferPoint>& points);

}  // namespace codl::profiler
