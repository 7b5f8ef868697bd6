// Runs the loop over a variant's steps: CPU steps on the pool, GPU and Transfer steps into the
// queues.
#pragma once

#include <atomic>
#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/cpu_job.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/gpu_flags.h"
#include "runtime/src/gpu_queue.h"
#include "runtime/src/gpu_recorder.h"
#include "runtime/src/step_checker.h"
#include "runtime/src/step_list.h"

namespace codl::rt {

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor() { release_recordings(); }

  // Everything given is borrowed and must outlive this; `gpu` is null in a variant without GPU
  // steps. `gate` is how its steps wait for the CPU's, the same as in the step list. `scratch` has
  // room for every step of the list. Call once per object.
  codl_status_t create(const codl_allocator_t& allocator, Gate gate, StepList& steps, CpuPool& pool,
                       const CpuScratch& scratch, GpuQueue* gpu, bool record_timeline,
                       codl_diag_t* diag);

  // Sets a flag, which is borrowed: once it is true, the run ends before its next step with
  // CANCELLED.
  void set_cancel(const std::atomic<bool>* cancel) { cancel_ = cancel; }

  // Gives the flags that steps of a list ahead wait for. Borrowed.
  void set_flags(GpuFlags* flags) { flags_ = flags; }

  // Records the steps that the list says are; flags must be set before. `recorder` is borrowed and
  // outlives this. Returns false, and why, if the driver refuses: then all are enqueued one by one.
  bool record(const codl_allocator_t& allocator, GpuRecorder& recorder, codl_diag_t* out_reason);

  // Has some of the GPU steps checked from now on. Borrowed.
  void set_checker(StepChecker* checker) { checker_ = checker; }

  // Runs every step once and returns when all queues are done. DEVICE_ERROR if OpenCL reports one.
  // Then the queues are empty and nothing is mapped, so that the next run begins like the first;
  // where that could not be brought about, or a flag has not come to the GPU, GpuQueue::is_lost(),
  // and every later run reports the same. WRONG_RESULT if a check says so.
  codl_status_t run(codl_diag_t* diag);

  // Has run() take the times of the CPU's steps: cpu_ns() is their sum in the last run.
  void set_timed() { is_timed_ = true; }
  int64_t cpu_ns() const { return cpu_ns_; }

  // Returns the last run's times in the order of the plan's steps; empty unless recording.
  const Array<codl_step_time_t>& timeline() const { return timeline_; }

 private:
  codl_status_t run_in_order(codl_diag_t* diag);
  codl_status_t run_ahead(codl_diag_t* diag);
  codl_status_t check_cancel(codl_diag_t* diag) const;
  codl_status_t run_checked(uint32_t index, codl_diag_t* diag);
  codl_status_t enqueue_before(uint32_t cpu_step, uint32_t* next, codl_diag_t* diag);
  codl_status_t enqueue(uint32_t index, codl_diag_t* diag);
  // A recording and the kernels of its flags. PoCL 3.1 reads a kernel's arguments when the
  // recording is enqueued, so that each has kernels of its own.
  struct Recorded {
    GpuRecording recording = nullptr;
    cl_kernel wait = nullptr;
    cl_kernel set = nullptr;
  };
  cl_int record_steps(uint32_t begin, Recorded* out);
  void release_recordings();
  codl_status_t submit(uint32_t index, cl_uint wait_count, const cl_event* waits,
                       cl_event* out_event, codl_diag_t* diag);
  codl_status_t map(uint32_t index, cl_uint wait_count, const cl_event* waits, cl_event* out_event,
                    codl_diag_t* diag);
  cl_int mark(const Step& step, cl_uint wait_count, const cl_event* waits, cl_event* out_event);
  cl_int transfer(const Step& step, cl_uint wait_count, const cl_event* waits, cl_event* out_event);
  codl_status_t run_cpu_step(uint32_t index, codl_diag_t* diag);
  codl_status_t open_gate(uint32_t index, codl_diag_t* diag);
  codl_status_t wait_for(uint32_t index, bool by_flag, codl_diag_t* diag);
  codl_status_t check_flags(codl_diag_t* diag) const;
  codl_status_t wait_for_queues(codl_diag_t* diag);
  void read_gpu_times();
  bool abandon();
  void release_events();

  StepList* steps_ = nullptr;
  CpuPool* pool_ = nullptr;
  GpuQueue* gpu_ = nullptr;
  bool has_user_events_ = false;
  CpuScratch scratch_;
  // Indexed by step: a GPU or Transfer step's command; a gate's user event (gates are CPU steps).
  Array<cl_event> events_;
  Array<codl_step_time_t> timeline_;
  const std::atomic<bool>* cancel_ = nullptr;
  GpuFlags* flags_ = nullptr;        // null: no step waits by flag
  GpuRecorder* recorder_ = nullptr;  // null: nothing is recorded
  Array<Recorded> recordings_;       // indexed by step: those that begin there
  uint32_t given_end_ = 0;           // steps before it are in the queue, with a recording
  StepChecker* checker_ = nullptr;
  uint32_t checked_step_ = kNoStep;  // in this run
  bool is_timed_ = false;
  int64_t cpu_ns_ = 0;
  codl_diag_t failure_ = {};  // why the last failed run failed
};

}  // namespace codl::rt
