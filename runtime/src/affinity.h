// Reads and sets the cores that the calling thread may use, on Linux and bionic by
// sched_setaffinity on the thread itself.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>

namespace codl::rt {

// Cores the calling thread may run on; at least 1.
int32_t allowed_core_count();

// The first of `cores` that the calling thread cannot be moved to (no such core, or a cpuset
// forbids it), or -1. Leaves the thread as it was.
int64_t first_unusable_core(const int32_t* cores, size_t count);

// Moves the calling thread to one core for good. A thread the kernel will not move stays where it
// is: pinning is for speed only.
void pin_to_core(int32_t core);

// Keeps the calling thread on the given cores until the end of the scope. Threads created inside
// inherit the cores.
class AffinityScope {
 public:
  AffinityScope() = default;
  AffinityScope(const AffinityScope&) = delete;
  AffinityScope& operator=(const AffinityScope&) = delete;
  ~AffinityScope() { leave(); }

  void enter(const int32_t* cores, size_t count);
  void leave();

 private:
  cpu_set_t saved_;
  bool entered_ = false;
};

}  // namespace codl::rt
