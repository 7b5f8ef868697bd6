// Runs jobs on the CPU queue's workers, one at a time: the calling thread and N - 1 threads of the
// pool.
//
// A job is posted at a gate that idle workers watch: they spin first and sleep in the kernel later.
// How long they spin matters: on the build machine passing work to a spinning thread takes 68 ns,
// to a sleeping one 36 us, which is as long as a small layer. The job ends when its tasks are done:
// a worker that has had no core since it was posted costs nothing.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "codl/codl.h"
#include "kernels/common/contract/tasks.h"
#include "runtime/src/affinity.h"
#include "runtime/src/arena.h"
#include "runtime/src/job_gate.h"

namespace codl::rt {

class CpuPool {
 public:
  // A worker runs these tasks of a job in one go.
  struct Piece {
    int32_t worker;
    int32_t task_begin;
    int32_t task_end;
    bool is_first;  // first of the worker's pieces in this job
  };
  using Job = void (*)(void* context, const Piece& piece);

  CpuPool() = default;
  CpuPool(const CpuPool&) = delete;
  CpuPool& operator=(const CpuPool&) = delete;
  ~CpuPool() { stop(); }

  // Starts the workers; `workers` counts the thread that will call run(). Worker i is pinned to
  // cores[i % core_count]; without cores, none is pinned. If the system grants fewer threads the
  // pool works with those. Call once per object.
  codl_status_t start(const codl_allocator_t& allocator, const kernels::WorkerSpeeds& workers,
                      const int32_t* cores, size_t core_count, codl_diag_t* diag);
  void stop();

  int32_t worker_count() const { return worker_count_; }
  // Those that start() was asked for.
  int32_t wanted_worker_count() const { return static_cast<int32_t>(workers_.count()); }

  // Pins the calling thread, which is worker 0, for the time of the scope; nothing if the pool has
  // no cores.
  void enter(AffinityScope* caller) const;

  // Returns the end of the tasks that a worker begins with. They follow those of the worker before
  // it, and are as many as its speed is of all speeds.
  int32_t share_end(int32_t task_count, int32_t worker) const {
    return static_cast<int32_t>(kernels::tasks_before(
        task_count, workers_[static_cast<size_t>(worker)].speed_end, speed_sum_));
  }

  // Runs tasks [0, task_count) and returns when all are done. Calls must not overlap. Each worker
  // calls `job` for the first half of what is left of its share, again and again; who is done takes
  // half of what another has left. So a core that is slower than the profile says (one that others
  // use too) does fewer tasks, and nobody waits for it long.
  void run(int32_t task_count, Job job, void* context);

 private:
  // A worker fills a cache line of 64 bytes, so that no two share the line of their tasks.
  struct alignas(64) Worker {
    // The upper half holds the first task, the lower one the end. The caller writes it before the
    // gate opens, then workers that are checked in.
    std::atomic<uint64_t> tasks_left{0};
    CpuPool* pool = nullptr;
    int32_t index = 0;
    int32_t speed_end = 0;  // speeds of the workers up to this one, added up
    pthread_t thread = {};
  };

  bool start_thread(Worker& worker);
  static void* thread_main(void* worker);
  void serve(int32_t worker);
  void work(int32_t worker);
  // Takes half of what is left to `victim`, the odd task too: the first if it is `thief` itself,
  // else the last. False: nothing is left.
  bool claim(int32_t thief, int32_t victim, int32_t* out_begin, int32_t* out_end);

  Array<Worker> workers_;  // [0] is the caller's and has no thread
  Array<int32_t> cores_;
  int32_t worker_count_ = 1;
  int32_t speed_sum_ = 1;

  // Passing work moves this from core to core, and the shares; 64: it is one line of the cache.
  struct alignas(64) PostedJob {
    JobGate gate;
    // Workers that are checked in read these.
    Job job = nullptr;
    void* context = nullptr;
    bool is_last = false;  // there is no job: the workers end
  };
  PostedJob posted_;
};

}  // namespace codl::rt
