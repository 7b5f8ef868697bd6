#include "runtime/src/cpu_pool.h"

#include <signal.h>

#include <cstdio>

#include "runtime/src/diag.h"

namespace codl::rt {
namespace {

// Returns a value of CpuPool::Worker::tasks_left.
uint64_t pack_tasks(int32_t begin, int32_t end) {
  return static_cast<uint64_t>(begin) << 32 | static_cast<uint64_t>(end);
}

// While it lives, threads that are created inherit a mask of all signals: the host's handlers run
// on the host's threads. Signals that a fault of the thread itself raises, and a profiler's clock,
// are not masked.
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

codl_status_t CpuPool::start(const codl_allocator_t& allocator,
                             const kernels::WorkerSpeeds& workers, const int32_t* cores,
                             size_t core_count, codl_diag_t* diag) {
  if (!workers_.allocate(allocator, static_cast<size_t>(workers.count)) ||
      !cores_.allocate(allocator, core_count)) {
    set_diag(diag, "no memory for %d CPU workers", workers.count);
    return CODL_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < core_count; ++i) cores_[i] = cores[i];
  speed_sum_ = 0;
  const SignalBlock block;
  for (int32_t i = 0; i < workers.count; ++i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    worker.pool = this;
    worker.index = i;
    if (i != 0 && !start_thread(worker)) break;
    worker.speed_end = speed_sum_ += static_cast<int32_t>(workers.of(i));
    worker_count_ = i + 1;
  }
  return CODL_OK;
}

bool CpuPool::start_thread(Worker& worker) {
  if (pthread_create(&worker.thread, nullptr, thread_main, &worker) != 0) return false;
  char name[16];  // the system's limit
  std::snprintf(name, sizeof(name), "codl-%d", worker.index);
  pthread_setname_np(worker.thread, name);
  return true;
}

void CpuPool::stop() {
  if (worker_count_ == 1) return;
  posted_.is_last = true;
  posted_.gate.open();
  for (int32_t i = 1; i < worker_count_; ++i)
    pthread_join(workers_[static_cast<size_t>(i)].thread, nullptr);
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
  for (int32_t i = 0, begin = 0; i < worker_count_; ++i) {
    const int32_t end = share_end(task_count, i);
    workers_[static_cast<size_t>(i)].tasks_left.store(pack_tasks(begin, end),
                                                      std::memory_order_relaxed);
    begin = end;
  }
  posted_.gate.open();
  work(0);
  posted_.gate.close();
}

bool CpuPool::claim(int32_t thief, int32_t victim, int32_t* out_begin, int32_t* out_end) {
  // Accesses are relaxed, because the word only says who may run a task. The gate orders the reads
  // and writes of tasks.
  std::atomic<uint64_t>& word = workers_[static_cast<size_t>(victim)].tasks_left;
  uint64_t found = word.load(std::memory_order_relaxed);
  for (;;) {
    const auto begin = static_cast<int32_t>(found >> 32);
    const auto end = static_cast<int32_t>(found & UINT32_MAX);
    if (begin == end) return false;
    const int32_t taken = end - begin - (end - begin) / 2;
    *out_begin = thief == victim ? begin : end - taken;
    *out_end = *out_begin + taken;
    const uint64_t rest =
        thief == victim ? pack_tasks(begin + taken, end) : pack_tasks(begin, end - taken);
    if (word.compare_exchange_weak(found, rest, std::memory_order_relaxed)) return true;
  }
}

void CpuPool::work(int32_t worker) {
  std::atomic<uint64_t>& own = workers_[static_cast<size_t>(worker)].tasks_left;
  const Job job = posted_.job;
  void* const context = posted_.context;
  Piece piece = {worker, 0, 0, true};
  for (int32_t other = 0; other < worker_count_;) {
    const int32_t victim = (worker + other) % worker_count_;
    if (other == 0) {
      for (; claim(worker, victim, &piece.task_begin, &piece.task_end); piece.is_first = false)
        job(context, piece);
      other = 1;
    } else if (claim(worker, victim, &piece.task_begin, &piece.task_end)) {
      own.store(pack_tasks(piece.task_begin, piece.task_end), std::memory_order_relaxed);
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
  for (uint64_t seen = 0;;) {
    seen = posted_.gate.enter(seen);
    if (posted_.is_last) return;
    work(worker);
    posted_.gate.leave();
  }
}

}  // namespace codl::rt
