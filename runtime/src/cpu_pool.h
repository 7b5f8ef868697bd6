// The CPU queue's workers: the calling thread and N - 1 threads of ours, one job at a time.
//
// A job is posted with a counter that idle workers watch: spinning first, asleep in the
// kernel later. The bound matters: on the build machine passing work to a spinning thread takes
// 68 ns, to a sleeping one 36 us, which is as long as a small layer.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "codl/codl.h"
#include "kernels/common/contract/tasks.h"
#include "runtime/src/affinity.h"
#include "runtime/src/arena.h"

namespace codl::rt {

// A spinning thread's pause; lets the other thread of the core run.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

// Nanoseconds on the monotonic clock.
int64_t now_ns();

// A number that other threads wait to see changed.
class WaitableCounter {
 public:
  uint32_t load() const { return value_.load(std::memory_order_acquire); }
  void set(uint32_t value) {
    value_.store(value);
    wake();
  }
  void subtract_one() {
    value_.fetch_sub(1);
    wake();
  }
  // Returns the new value once it is not `old`: spins for a while, then sleeps.
  uint32_t wait_for_change(uint32_t old);

 private:
  void wake();

  // A sleeper raises sleepers_ and then lets the kernel compare value_; a waker changes value_ and
  // then looks at sleepers_. Both in the one total order, so that one of them sees the other.
  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
};

class CpuPool {
 public:
  // Some tasks of a job that a worker runs in one go.
  struct Piece {
    int32_t worker;
    int32_t task_begin;
    int32_t task_end;
    bool is_first;  // of the worker's pieces of this job
  };
  using Job = void (*)(void* context, const Piece& piece);

  CpuPool() = default;
  CpuPool(const CpuPool&) = delete;
  CpuPool& operator=(const CpuPool&) = delete;
  ~CpuPool() { stop(); }

  // `workers` counts the thread that will call run(). Worker i is pinned to cores[i % core_count];
  // no cores: not pinned. Once per object.
  codl_status_t start(const codl_allocator_t& allocator, const kernels::WorkerSpeeds& workers,
                      const int32_t* cores, size_t core_count, codl_diag_t* diag);
  void stop();

  int32_t worker_count() const { return worker_count_; }

  // Pins the calling thread, which is worker 0, for the time of the scope; nothing if the pool has
  // no cores.
  void enter(AffinityScope* caller) const;

  // Tasks that a worker begins with: contiguous, in proportion to its speed.
  kernels::Units share_of(int32_t task_count, int32_t worker) const {
    const Worker& one = workers_[static_cast<size_t>(worker)];
    return {kernels::tasks_before(task_count, one.speed_before, speed_sum_),
            kernels::tasks_before(task_count, one.speed_end, speed_sum_)};
  }

  // Runs tasks [0, task_count) and returns when all are done. One call at a time. Each worker calls
  // `job` for the first half of what is left of its share, again and again; who is done takes half
  // of what another has left. So a core that is slower than the profile says (one that others use
  // too) does fewer tasks, and nobody waits for it long.
  void run(int32_t task_count, Job job, void* context);

 private:
  // 64: the tasks left to a worker on a line of their own.
  struct alignas(64) Worker {
    // Bits 62 and 63: of the generation that the rest is of; then 31 bits of its first task, 31 of
    // its end. An older generation's word means the whole share: nobody has begun it. Each worker
    // writes its word in every generation, so it is never older than by one.
    std::atomic<uint64_t> tasks_left{0};
    CpuPool* pool = nullptr;
    int32_t index = 0;
    // Speeds added up, of the workers before this one, and with it. Here, as who looks for a share
    // has the line anyway.
    int32_t speed_before = 0;
    int32_t speed_end = 0;
    pthread_t thread = {};
  };

 public:
  static constexpr size_t kWorkerBytes = sizeof(Worker);

 private:
  static void* thread_main(void* worker);
  void serve(int32_t worker);
  void work(int32_t worker, uint32_t generation);
  // Takes half of what is left to `victim`, the odd task too: the first if it is `thief` itself,
  // else the last. False: nothing is left.
  bool claim(int32_t thief, int32_t victim, uint32_t generation, int32_t* out_begin,
             int32_t* out_end);

  Array<Worker> workers_;  // [0] is the caller's and has no thread
  Array<int32_t> cores_;
  int32_t worker_count_ = 1;
  int32_t speed_sum_ = 1;
  int32_t started_count_ = 0;  // threads that exist

  // What passing work moves from core to core: one line of the cache there, one back. 64: apart
  // from each other and from the rest, so that finishing workers do not disturb waiting ones.
  struct alignas(64) PostedJob {
    WaitableCounter generation;
    // Written by the caller before it raises the generation, read by workers after they saw it
    // rise.
    Job job = nullptr;
    void* context = nullptr;
    int32_t task_count = 0;
    bool is_last = false;  // no job: the workers end
  };
  PostedJob posted_;
  alignas(64) WaitableCounter busy_count_;
};

}  // namespace codl::rt
