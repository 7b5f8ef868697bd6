// A session has variants of a plan's entries with their memory, workers and queues. One of them is
// in use.
#pragma once

#include <atomic>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/gpu_flags.h"
#include "runtime/src/gpu_memory.h"
#include "runtime/src/gpu_programs.h"
#include "runtime/src/gpu_queue.h"
#include "runtime/src/gpu_recorder.h"
#include "runtime/src/plan.h"
#include "runtime/src/prepared_variant.h"
#include "runtime/src/run_record.h"
#include "runtime/src/states.h"

// Members are released in the reverse order: workers and queues stop before memory goes.
struct codl_session {
  codl_session() = default;
  ~codl_session() {
    // Objects that a step or a checker has given to a queue, and the host's end of transfers, must
    // outlive the queue's commands.
    const bool is_idle = gpu.drain();
    if (!is_idle) host_arena.leave();
    if (!is_idle) states.leave_memory();
    for (codl::rt::PreparedVariant* one : prepared) {
      if (one == nullptr) continue;
      if (!is_idle && one->checker != nullptr) one->checker->leave_memory();
      codl::rt::destroy_object(allocator, one);
    }
  }
  codl::rt::AllocationCounter memory;
  codl_allocator_t allocator = {};  // allocates from `memory`
  const codl_plan_t* plan = nullptr;
  codl::rt::Array<codl::rt::PreparedEntry> entries;  // in the plan's order
  // Those with GPU steps come first; otherwise the plan's order holds, entry by entry.
  codl::rt::Array<const codl::plan::VariantDef*> defs;
  size_t gpu_variant_count = 0;
  codl::rt::Arena host_arena;  // all variants but `spare` share it
  // The spare variant's is its own: a device whose queue could not be emptied may still write to
  // the other one.
  codl::rt::Arena spare_arena;
  codl::rt::Arena scratch;
  codl::rt::States states;
  codl::rt::Array<int64_t> hidden_outputs;  // they come after the plan's visible ones
  codl::rt::GpuQueue gpu;  // it and what is of it are empty without variants with GPU steps
  codl::rt::GpuMemory gpu_memory;
  codl::rt::GpuPrograms gpu_programs;
  codl::rt::GpuFlags gpu_flags;
  codl_diag_t flag_refusal = {};  // why waits by flag are by event; empty: none is
  codl::rt::GpuRecorder gpu_recorder;
  codl_diag_t recording_refusal = {};  // why recorded steps are enqueued one by one; empty: none is
  codl::rt::Array<codl::rt::PreparedVariant*> prepared;  // parallel to `defs`
  codl::rt::CpuPool pool;
  codl::rt::PreparedVariant* last = nullptr;  // finished the last run; null: there was none
  // The next run is at its shapes. Written between runs; any thread may read it.
  std::atomic<codl::rt::PreparedEntry*> entry{nullptr};
  codl::rt::RunRecord record;
  bool records_timeline = false;
  uint64_t weight_bytes = 0;  // bytes of the variants' blobs, whole pages
  codl_diag_t fallback = {};  // why the first variant is not the one asked for
  double load_us = 0;
  double program_us = 0;
  // A run holds this for its length, so that a second thread is refused and not mixed in.
  std::atomic<bool> is_running{false};
  std::atomic<bool> is_cancelled{false};  // the run in progress is to end

  bool has_gpu() const { return gpu_variant_count != 0; }
  codl::rt::PreparedVariant* current() const { return entry.load()->current.load(); }
  codl::rt::VariantList gpu_variants() const { return {defs.data(), gpu_variant_count}; }
  codl::rt::VariantList variants() const { return {defs.data(), defs.count()}; }
};

namespace codl::rt {

// Holds a session for one run, or for a call that must not meet one, unless another thread does.
class RunScope {
 public:
  explicit RunScope(codl_session& session)
      : session_(session), is_entered_(!session.is_running.exchange(true)) {}
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  ~RunScope() {
    if (is_entered_) session_.is_running = false;
  }
  bool is_entered() const { return is_entered_; }

 private:
  codl_session& session_;
  const bool is_entered_;
};

// Says that another thread is in a run.
codl_status_t refuse_second_run(codl_diag_t* diag);

// Works as codl_session_create, but with the given OpenCL functions; null means the machine's.
// Tests use it.
codl_status_t create_session(const codl_plan_t* plan, const codl_session_options_t* options,
                             const ClApi* api, codl_session_t** out_session, codl_diag_t* diag);

// Checks that the host's options are sound.
codl_status_t check_options(const codl_plan& plan, const codl_session_options_t& options,
                            codl_diag_t* diag);

// Returns the entry's variant of that name, or its first for null; kCoexecVariant is the first,
// too, if no variant is called so. Returns null if there is none.
const plan::VariantDef* find_variant(const plan::EntryDef& entry, const char* name);

}  // namespace codl::rt
