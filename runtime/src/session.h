// A session: one variant of a plan with its memory, workers and queues.
#pragma once

#include <atomic>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/executor.h"
#include "runtime/src/gpu_memory.h"
#include "runtime/src/gpu_programs.h"
#include "runtime/src/gpu_queue.h"
#include "runtime/src/plan.h"
#include "runtime/src/run_record.h"
#include "runtime/src/spare_variant.h"
#include "runtime/src/step_checker.h"
#include "runtime/src/step_list.h"

// Members are released in the reverse order: workers and queues stop before memory goes.
struct codl_session {
  codl_session() = default;
  ~codl_session() {
    if (spare != nullptr) codl::rt::destroy_object(allocator, spare);
    if (checker != nullptr) codl::rt::destroy_object(allocator, checker);
  }
  codl_allocator_t allocator = {};
  const codl_plan_t* plan = nullptr;
  const codl::plan::VariantDef* variant = nullptr;
  codl::rt::Arena host_arena;
  codl::rt::Array<int64_t> hidden_outputs;  // behind the plan's visible ones
  codl::rt::GpuQueue gpu;                   // these three are empty in a variant without GPU steps
  codl::rt::GpuMemory gpu_memory;
  codl::rt::GpuPrograms gpu_programs;
  codl::rt::StepList steps;
  codl::rt::CpuPool pool;
  codl::rt::Executor executor;
  codl::rt::SpareVariant* spare = nullptr;   // null: no fallback in a run
  codl::rt::StepChecker* checker = nullptr;  // null: nothing is checked
  codl::rt::RunRecord record;
  bool has_gpu = false;
  bool records_timeline = false;
  bool is_last_on_spare = false;  // the last run was finished by `spare`
  uint64_t weight_bytes = 0;      // of the variant's blobs, whole pages
  codl_diag_t fallback = {};      // why `variant` is not the one asked for
  double load_us = 0;
  double program_us = 0;
  // Held for the length of a run, so that a second thread is refused and not mixed in.
  std::atomic<bool> is_running{false};
  std::atomic<bool> is_cancelled{false};  // the run in progress is to end
};

namespace codl::rt {

// codl_session_create with OpenCL's functions given; null: the machine's. For tests.
codl_status_t create_session(const codl_plan_t* plan, const codl_session_options_t* options,
                             const ClApi* api, codl_session_t** out_session, codl_diag_t* diag);

}  // namespace codl::rt
