// The way into a job: the caller opens it, workers check in and out, and it closes when there is
// nothing left to claim.
//
// A worker that had no core since the job was posted finds the gate closed, or open for a later
// job, and nobody waits for it. Only a worker that is checked in may touch the job's data.
#pragma once

#include <atomic>
#include <cstdint>

namespace codl::rt {

// A spinning thread's pause; lets the other thread of the core run.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

// Returns nanoseconds on the monotonic clock.
int64_t now_ns();

// Has threads wait for others to meet a condition: they spin for a while, then sleep.
class Waiters {
 public:
  // Returns once is_met() has returned true.
  template <typename Condition>
  void wait_until(Condition is_met);
  // Call it after a change that may meet the condition. Costs a load unless a thread has gone to
  // sleep since the last call.
  void wake();

 private:
  // Tells a spinning thread when to sleep.
  class Spin {
   public:
    // Spins for a moment; returns false once it has been long.
    bool go_on();

   private:
    int64_t start_ns_ = 0;  // 0: the clock, which costs as much as passing work, was not read yet
  };
  void sleep(uint32_t epoch);

  // Odd: a thread sleeps or is about to. A sleeper makes it odd and then looks at the condition; a
  // waker changes what the condition reads and then looks here. All are in the one total order, so
  // that one of them sees the other.
  std::atomic<uint32_t> epoch_{0};
};

template <typename Condition>
void Waiters::wait_until(Condition is_met) {
  // So many pauses pass between two looks at the clock; they take about a microsecond.
  constexpr int32_t kPausesPerLook = 32;
  Spin spin;
  do {
    for (int32_t i = 0; i < kPausesPerLook; ++i) {
      if (is_met()) return;
      pause_core();
    }
  } while (spin.go_on());
  for (;;) {
    const uint32_t epoch = epoch_.fetch_or(1) | 1;
    if (is_met()) return;
    sleep(epoch);
  }
}

class JobGate {
 public:
  // Lets workers into the next job. The caller has written all that belongs to it.
  void open();
  // Waits for a job later than `seen`, and returns its number: the worker is checked in.
  uint64_t enter(uint64_t seen);
  // The worker has found nothing left to claim: it closes the gate and checks out.
  void leave();
  // The caller has found nothing left to claim: it closes the gate, and returns when all who
  // checked in have checked out.
  void close();

 private:
  // Bits 0 to 7: workers that are checked in; bit 8: nobody else may. The rest counts jobs: in 55
  // bits it never comes round.
  static constexpr uint64_t kCountMask = 0xff;
  static constexpr uint64_t kClosed = 0x100;
  static constexpr int kJobShift = 9;

  std::atomic<uint64_t> state_{kClosed};
  Waiters idle_;    // wait for a job
  Waiters caller_;  // waits for the workers of its job
};

}  // namespace codl::rt
