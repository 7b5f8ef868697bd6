// Costs of transfers and synchronisations between the processors, for the planner, the simulator
// and replays alike.
#pragma once

#include <algorithm>
#include <optional>

#include "compiler/cost/quantity.h"
#include "schema/plan.h"

namespace codl::compiler {

// An upload or a download: the time of the host's call, and the time after that.
struct CopyCosts {
  Quantity call_us;
  Quantity call_us_per_mb;
  Quantity rest_us;
  Quantity rest_us_per_mb;
};

// The prices of giving work away and of seeing it done, by kind. The host is the thread
// of the CPU: it computes nothing while it calls.
struct HostCosts {
  Quantity enqueue_us;  // a call for a queue that has other work
  Quantity submit_us;   // a call for an idle queue
  Quantity start_us;    // from that call to the start of the command
  Quantity wake_us;     // from the end of a command to the host that polls for it
  // A step after the other processor's takes longer: on the CPU because its workers slept, on
  // either by the bytes that the other processor's caches have.
  Quantity cpu_resume_us;
  Quantity cpu_cold_us_per_mb;
  Quantity gpu_cold_us_per_mb;
  // Separate memories:
  Quantity queue_us;  // from the end of a command to the start of one in the other queue
  CopyCosts upload;
  CopyCosts download;
  bool download_call_waits = false;  // for the kernel that the download waits for
};

// Costs of synchronisations and transfers between the processors, in one direction. Microseconds;
// MB = 1e6 bytes.
struct TransferCosts {
  Sharing sharing = Sharing::FineSvm;  // never None
  Quantity sync_us;                    // one synchronisation: event, poll or queue round trip
  Quantity map_us;                     // fixed part of map + unmap (SubBuffer)
  Quantity map_us_per_mb;              // cache maintenance by size
  Quantity copy_us_per_mb;             // Upload, Download (Separate)
  std::optional<HostCosts> host;       // takes the place of sync_us and copy_us_per_mb
  // Slow-down of a processor while the other runs, by processor.
  Quantity contention_percent[2];
  // 10^9 bytes a second that both processors get together of one memory; 0: no limit is known.
  Quantity memory_gb_per_s;

  // An upload (`to_gpu`) or download of `bytes` between separate memories: what its call takes of
  // the host, and what it takes after that.
  double copy_call_time_us(double bytes, bool to_gpu) const;
  double copy_time_us(double bytes, bool to_gpu) const;

  // A map of `bytes` and its unmap.
  double map_time_us(double bytes) const;

  // Returns the time of the host's calls that give the GPU a step; 0: not known.
  double enqueue_time_us() const { return host ? host->enqueue_us.value : 0; }

  // From the end of what makes `bytes` in one processor to the start of what reads them in the
  // other, without the time spent in convert kernels.
  double synchronisation_us(double bytes, bool to_gpu) const;

  // The same without the map or the copy.
  double wait_us(double bytes, bool to_gpu) const;
};

// Returns what a step asks of a memory when it runs alone, in 10^9 bytes a second; 0 if it takes no
// time.
inline double memory_demand(double bytes, double us) {
  constexpr double kMaxDemand = 1e9;  // sums and ratios stay finite
  return us > 0 ? std::min(bytes / us * 1e-3, kMaxDemand) : 0;
}

// How many times as long as alone two steps take beside each other that ask a memory for so much,
// which gives both `memory_gb_per_s`, and no less than one of them has alone; 0: all they ask for.
inline double memory_slow_down(double memory_gb_per_s, double one_gb_per_s, double other_gb_per_s) {
  if (memory_gb_per_s == 0) return 1;
  const double most = std::max({memory_gb_per_s, one_gb_per_s, other_gb_per_s});
  return std::max((one_gb_per_s + other_gb_per_s) / most, 1.0);
}

}  // namespace codl::compiler
