#include "runtime/src/job_gate.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "codl/codl.h"

namespace codl::rt {
namespace {

// An idle worker spins for so long before it sleeps. This is some five times the 36 us that waking
// one takes: longer than the gaps between CPU steps, shorter than a wait for a large GPU step,
// whose cores (a phone's power, PoCL's threads) are then not ours to burn.
constexpr int64_t kSpinNs = 200'000;
// From here on the spinning thread offers its core to others: there may be more workers than cores.
constexpr int64_t kYieldAfterNs = 20'000;

}  // namespace

int64_t now_ns() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool Waiters::Spin::go_on() {
  const int64_t time_ns = now_ns();
  if (start_ns_ == 0) start_ns_ = time_ns;
  const int64_t spun_ns = time_ns - start_ns_;
  if (spun_ns > kSpinNs) return false;
  if (spun_ns > kYieldAfterNs) sched_yield();
  return true;
}

void Waiters::sleep(uint32_t epoch) {
  static_assert(sizeof(epoch_) == sizeof(uint32_t));
  syscall(SYS_futex, &epoch_, FUTEX_WAIT_PRIVATE, epoch, nullptr, nullptr, 0);
}

void Waiters::wake() {
  uint32_t epoch = epoch_.load();
  // If that fails, another thread wakes them, and they see this one's change.
  if (epoch % 2 != 0 && epoch_.compare_exchange_strong(epoch, epoch + 1))
    syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void JobGate::open() {
  static_assert(CODL_MAX_THREADS <= kCountMask);
  const uint64_t job = state_.load(std::memory_order_relaxed) >> kJobShift;
  state_.store((job + 1) << kJobShift);
  idle_.wake();
}

uint64_t JobGate::enter(uint64_t seen) {
  uint64_t job = seen;
  idle_.wait_until([&] {
    uint64_t state = state_.load();
    // Again if others check in or out meanwhile: who finds it open must not go to sleep.
    while (job = state >> kJobShift, job != seen && (state & kClosed) == 0)
      if (state_.compare_exchange_weak(state, state + 1)) return true;
    return false;
  });
  return job;
}

void JobGate::leave() {
  uint64_t state = state_.load(std::memory_order_relaxed);
  while (!state_.compare_exchange_weak(state, (state | kClosed) - 1)) {
  }
  if ((state & kCountMask) == 1) caller_.wake();
}

void JobGate::close() {
  if ((state_.fetch_or(kClosed) & kCountMask) == 0) return;
  caller_.wait_until([&] { return (state_.load() & kCountMask) == 0; });
}

}  // namespace codl::rt
