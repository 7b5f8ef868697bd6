#include "runtime/src/affinity.h"

#include <unistd.h>

#include <algorithm>

namespace codl::rt {
namespace {

// Returns false for a number that no set can hold.
bool add_core(int32_t core, cpu_set_t* set) {
  if (core < 0 || core >= CPU_SETSIZE) return false;
  CPU_SET(static_cast<size_t>(core), set);
  return true;
}

}  // namespace

int32_t allowed_core_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on a machine with more cores than a set holds.
  const long count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
                                                                  : sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<int32_t>(std::max(count, 1L));
}

int64_t first_unusable_core(const int32_t* cores, size_t count) {
  if (count == 0) return -1;
  cpu_set_t saved;
  CPU_ZERO(&saved);
  const bool can_restore = sched_getaffinity(0, sizeof(saved), &saved) == 0;
  int64_t unusable = -1;
  for (size_t i = 0; i < count && unusable < 0; ++i) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (!add_core(cores[i], &set) || sched_setaffinity(0, sizeof(set), &set) != 0)
      unusable = static_cast<uint32_t>(cores[i]);
  }
  if (can_restore) sched_setaffinity(0, sizeof(saved), &saved);
  return unusable;
}

void pin_to_core(int32_t core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (add_core(core, &set)) sched_setaffinity(0, sizeof(set), &set);
}

void AffinityScope::enter(const int32_t* cores, size_t count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_ZERO(&saved_);
  for (size_t i = 0; i < count; ++i) add_core(cores[i], &set);
  entered_ = sched_getaffinity(0, sizeof(saved_), &saved_) == 0 &&
             sched_setaffinity(0, sizeof(set), &set) == 0;
}

void AffinityScope::leave() {
  if (entered_) sched_setaffinity(0, sizeof(saved_), &saved_);
  entered_ = false;
}

}  // namespace codl::rt
