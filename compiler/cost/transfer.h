// Computes costs of transfers and synchronisations between the processors, for the planner, the
// simulator and replays alike.
#pragma once

#include <algorithm>
#include <optional>

#include "compiler/cost/quantity.h"
#include "schema/plan.h"

namespace codl::compiler {

// Splits an upload or a download into the time of the host's call and the time after it.
struct CopyCosts {
  Quantity call_us;
  Quantity call_us_per_mb;
  Quantity rest_us;
  Quantity rest_us_per_mb;
};

// Holds the costs of enqueueing work and of noticing that it is done, by kind. The host is the
// CPU's thread: it computes nothing while it calls.
struct HostCosts {
  Quantity enqueue_us;  // a call for a queue that has other work
  Quantity submit_us;   // a call for an idle queue
  // A kernel's part in the call that gives a queue a recording; none: the device takes none.
  std::optional<Quantity> recorded_us;
  Quantity start_us;  // from that call to the start of the command
  Quantity wake_us;   // from the end of a command to the host that polls for it
  // A step after one of the other processor takes longer: the CPU's workers slept, or the bytes are
  // in the other processor's caches.
  Quantity cpu_resume_us;
  Quantity cpu_cold_us_per_mb;
  Quantity gpu_cold_us_per_mb;
  // Separate memories:
  Quantity queue_us;  // from the end of a command to the start of one in the other queue
  CopyCosts upload;
  CopyCosts download;
  bool download_call_waits = false;  // true if it waits for the kernel that makes the bytes
};

// Holds what a wait by flag takes in each direction: from the end of a step to the start of the one
// that waits, the flag's kernel included.
struct FlagCosts {
  Quantity to_cpu_us;
  Quantity to_gpu_us;
};

// Holds the costs of synchronisations and transfers between the processors, in one direction, in
// microseconds; MB = 1e6 bytes.
struct TransferCosts {
  Sharing sharing = Sharing::FineSvm;  // never None
  Quantity sync_us;                    // one synchronisation: event, poll or queue round trip
  Quantity map_us;                     // fixed part of map + unmap (SubBuffer)
  Quantity map_us_per_mb;              // cache maintenance by size
  Quantity copy_us_per_mb;             // Upload, Download (Separate)
  std::optional<HostCosts> host;       // takes the place of sync_us and copy_us_per_mb
  std::optional<FlagCosts> flags;      // none: the device hands over by events only
  // Says how much slower each processor is while the other runs.
  Quantity contention_percent[2];
  // Both processors together get this many 10^9 bytes a second of one memory; 0: no limit is known.
  Quantity memory_gb_per_s;

  // Return the times of an upload (`to_gpu`) or download of `bytes` between separate memories: of
  // the host's call, and after the call.
  double copy_call_time_us(double bytes, bool to_gpu) const;
  double copy_time_us(double bytes, bool to_gpu) const;

  // Returns the time of a map of `bytes` and its unmap.
  double map_time_us(double bytes) const;

  // Returns the time of the host's calls that give the GPU a step; 0: not known.
  double enqueue_time_us() const { return host ? host->enqueue_us.value : 0; }

  // Returns true if the host gives the GPU recorded kernels sooner than one by one.
  bool records() const {
    return host && host->recorded_us && host->recorded_us->value < host->enqueue_us.value;
  }

  // Returns the kind that takes less for a wait between the CPU and the GPU.
  WaitKind wait_kind(bool to_gpu) const;
  // Returns what a wait takes by that kind, in `sync_us` of a device without times of the host.
  double sync_us_of(bool to_gpu) const;
  // Returns what a wait by flag takes. There must be flags.
  const Quantity& flag_us_of(bool to_gpu) const {
    return to_gpu ? flags->to_gpu_us : flags->to_cpu_us;
  }

  // Returns the least certain origin of what synchronisations take.
  Origin sync_origin() const;

  // Returns the time from the end of the step that makes `bytes` in one processor to the start of
  // the step that reads them in the other, without convert kernels.
  double synchronisation_us(double bytes, bool to_gpu) const;

  // Returns the same without the map or the copy.
  double wait_us(double bytes, bool to_gpu) const;
};

// Returns what a step asks of a memory when it runs alone, in 10^9 bytes a second; 0 if it takes no
// time.
inline double memory_demand(double bytes, double us) {
  constexpr double kMaxDemand = 1e9;  // sums and ratios stay finite
  return us > 0 ? std::min(bytes / us * 1e-3, kMaxDemand) : 0;
}

// Returns how many times as long as alone two steps take beside each other that ask a memory for so
// much. Together they get `memory_gb_per_s`, and no less than one of them has alone; 0: all they
// ask for.
inline double memory_slow_down(double memory_gb_per_s, double one_gb_per_s, double other_gb_per_s) {
  if (memory_gb_per_s == 0) return 1;
  const double most = std::max({memory_gb_per_s, one_gb_per_s, other_gb_per_s});
  return std::max((one_gb_per_s + other_gb_per_s) / most, 1.0);
}

}  // namespace codl::compiler
