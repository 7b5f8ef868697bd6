#include "runtime/src/cpu_pool.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "runtime/src/diag.h"

namespace codl::rt {
namespace {

// How long an idle worker spins before it sleeps. Some five times the 36 us that waking one takes:
// longer than the gaps between CPU steps, shorter than a wait for a large GPU step, whose cores (a
// phone's power, PoCL's threads) are then not ours to burn.
constexpr int64_t kSpinNs = 200'000;
// Pauses between two looks at the clock, about a microsecond.
constexpr int32_t kPausesPerLook = 32;
// From here on the spinning thread offers its core to others: there may be more workers than cores.
constexpr int64_t kYieldAfterNs = 20'000;

void futex_wait(const std::atomic<uint32_t>& word, uint32_t value) {
  static_assert(sizeof(word) == sizeof(uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void futex_wake_all(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// CpuPool::Worker::tasks_left.
uint64_t pack_tasks(uint32_t generation, int32_t begin, int32_t end) {
  return uint64_t{generation} << 62 | static_cast<uint64_t>(begin) << 31 |
         static_cast<uint64_t>(end);
}

// While it lives, threads that are created inherit a mask of all signals: the host's handlers run
// on the host's threads. What a fault of the thread itself raises, and a profiler's clock, stay.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    for (const int kept : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&all, kept);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
  ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

int64_t now_ns() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

uint32_t WaitableCounter::wait_for_change(uint32_t old) {
  int64_t start_ns = 0;  // 0: the clock, which costs as much as passing work, was not read yet
  for (;;) {
    for (int32_t i = 0; i < kPausesPerLook; ++i) {
      const uint32_t value = load();
      if (value != old) return value;
      pause_core();
    }
    const int64_t time_ns = now_ns();
    if (start_ns == 0) start_ns = time_ns;
    const int64_t spun_ns = time_ns - start_ns;
    if (spun_ns > kSpinNs) break;
    if (spun_ns > kYieldAfterNs) sched_yield();
  }
  sleepers_.fetch_add(1);
  uint32_t value = value_.load();
  while (value == old) {
    futex_wait(value_, old);
    value = value_.load();
  }
  sleepers_.fetch_sub(1);
  return value;
}

void WaitableCounter::wake() {
  if (sleepers_.load() != 0) futex_wake_all(value_);
}

codl_status_t CpuPool::start(const codl_allocator_t& allocator,
                             const kernels::WorkerSpeeds& workers, const int32_t* cores,
                             size_t core_count, codl_diag_t* diag) {
  const int32_t worker_count = workers.count;
  if (!workers_.allocate(allocator, static_cast<size_t>(worker_count)) ||
      !cores_.allocate(allocator, core_count)) {
    set_diag(diag, "no memory for %d CPU workers", worker_count);
    return CODL_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < core_count; ++i) cores_[i] = cores[i];
  worker_count_ = worker_count;
  speed_sum_ = 0;
  for (int32_t i = 0; i < worker_count; ++i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    worker.speed_before = speed_sum_;
    worker.speed_end = speed_sum_ += static_cast<int32_t>(workers.of(i));
  }
  const SignalBlock block;
  for (int32_t i = 1; i < worker_count; ++i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    worker.pool = this;
    worker.index = i;
    const int error = pthread_create(&worker.thread, nullptr, thread_main, &worker);
    if (error != 0) {
      set_diag(diag, "pthread_create: expected a thread for worker %d, found error %d", i, error);
      stop();
      return CODL_OUT_OF_MEMORY;
    }
    ++started_count_;
    char name[16];  // the system's limit
    std::snprintf(name, sizeof(name), "codl-%d", i);
    pthread_setname_np(worker.thread, name);
  }
  return CODL_OK;
}

void CpuPool::stop() {
  if (started_count_ == 0) return;
  posted_.is_last = true;
  posted_.generation.set(posted_.generation.load() + 1);
  for (int32_t i = 1; i <= started_count_; ++i)
    pthread_join(workers_[static_cast<size_t>(i)].thread, nullptr);
  started_count_ = 0;
  worker_count_ = 1;
}

void CpuPool::enter(AffinityScope* caller) const {
  if (cores_.count() != 0) caller->enter(cores_.data(), 1);
}

void CpuPool::run(int32_t task_count, Job job, void* context) {
  if (task_count <= 0) return;
  if (task_count == 1 || worker_count_ == 1) {
    job(context, {0, 0, task_count, true});
    return;
  }
  posted_.job = job;
  posted_.context = context;
  posted_.task_count = task_count;
  busy_count_.set(static_cast<uint32_t>(started_count_));
  posted_.generation.set(posted_.generation.load() + 1);
  work(0, posted_.generation.load());
  for (uint32_t busy = busy_count_.load(); busy != 0;) busy = busy_count_.wait_for_change(busy);
}

bool CpuPool::claim(int32_t thief, int32_t victim, uint32_t generation, int32_t* out_begin,
                    int32_t* out_end) {
  constexpr uint64_t kTaskMask = (uint64_t{1} << 31) - 1;
  // Relaxed: who may run a task is all that the word says. What tasks read and write is ordered by
  // the generation and by busy_count_.
  std::atomic<uint64_t>& word = workers_[static_cast<size_t>(victim)].tasks_left;
  uint64_t found = word.load(std::memory_order_relaxed);
  for (;;) {
    int32_t begin = static_cast<int32_t>(found >> 31 & kTaskMask);
    int32_t end = static_cast<int32_t>(found & kTaskMask);
    if (found >> 62 != (generation & 3)) {
      const kernels::Units share = share_of(posted_.task_count, victim);
      begin = static_cast<int32_t>(share.begin);
      end = static_cast<int32_t>(share.end);
    }
    const int32_t taken = end - begin - (end - begin) / 2;
    if (taken == 0 && thief != victim) return false;
    *out_begin = thief == victim ? begin : end - taken;
    *out_end = *out_begin + taken;
    const uint64_t rest = thief == victim ? pack_tasks(generation, begin + taken, end)
                                          : pack_tasks(generation, begin, end - taken);
    if (word.compare_exchange_weak(found, rest, std::memory_order_relaxed)) return taken != 0;
  }
}

void CpuPool::work(int32_t worker, uint32_t generation) {
  std::atomic<uint64_t>& own = workers_[static_cast<size_t>(worker)].tasks_left;
  Piece piece = {worker, 0, 0, true};
  for (int32_t other = 0; other < worker_count_;) {
    const int32_t victim = (worker + other) % worker_count_;
    if (other == 0) {
      for (; claim(worker, victim, generation, &piece.task_begin, &piece.task_end);
           piece.is_first = false)
        posted_.job(posted_.context, piece);
      other = 1;
    } else if (claim(worker, victim, generation, &piece.task_begin, &piece.task_end)) {
      own.store(pack_tasks(generation, piece.task_begin, piece.task_end),
                std::memory_order_relaxed);
      other = 0;
    } else {
      ++other;
    }
  }
}

void* CpuPool::thread_main(void* argument) {
  const Worker& worker = *static_cast<const Worker*>(argument);
  const CpuPool& pool = *worker.pool;
  if (pool.cores_.count() != 0)
    pin_to_core(pool.cores_[static_cast<size_t>(worker.index) % pool.cores_.count()]);
  worker.pool->serve(worker.index);
  return nullptr;
}

void CpuPool::serve(int32_t worker) {
  for (uint32_t seen = 0;;) {
    seen = posted_.generation.wait_for_change(seen);
    if (posted_.is_last) return;
    work(worker, seen);
    busy_count_.subtract_one();
  }
}

}  // namespace codl::rt
