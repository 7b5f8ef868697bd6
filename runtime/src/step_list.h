// Makes a variant's steps ready to run: pointers, arguments and waits are resolved once, so that a
// run looks nothing up.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "kernels/common/contract/contract.h"
#include "runtime/src/arena.h"
#include "runtime/src/gpu_memory.h"
#include "runtime/src/gpu_programs.h"
#include "runtime/src/gpu_queue.h"
#include "runtime/src/plan.h"
#include "runtime/src/transfer_box.h"

namespace codl::rt {

inline constexpr uint32_t kNoStep = UINT32_MAX;

struct Step {
  const plan::StepDef* def = nullptr;
  StepKind kind = StepKind::Kernel;
  Queue queue = Queue::Cpu;

  // This is a CPU kernel. Operand i is at *sources[i] when it runs: memory that is bound for each
  // run, or mapped during it, has no address before.
  kernels::CpuKernel function = nullptr;
  kernels::KernelArgs args;
  kernels::TensorView* views = nullptr;  // args.operands
  void* const* const* sources = nullptr;
  int32_t task_count = 0;
  int32_t phase_count = 1;

  GpuKernel gpu_kernel;  // a step in place has none

  // Map, Unmap, Upload and Download steps have these.
  cl_mem memory = nullptr;
  size_t map_bytes = 0;
  cl_map_flags map_flags = 0;
  uint32_t map_step = kNoStep;  // Unmap: the Map that it ends
  TransferBox box;
  uint8_t* host = nullptr;  // Upload, Download: the host tensor

  // The steps to wait for; waits that follow from the order of the queues are left out. The steps
  // named on a queue have an event; CPU steps named are gates.
  uint32_t queue_waits[kQueueCount] = {kNoStep, kNoStep};
  uint32_t cpu_wait = kNoStep;   // GPU and Transfer steps wait for it in their queue: a gate
  uint32_t host_wait = kNoStep;  // in a list ahead: the CPU step before they are enqueued
  uint32_t room_wait = kNoStep;  // GPU: what must be done before it is enqueued (ahead_window.h)
  bool needs_event = false;      // GPU and Transfer: somebody waits, or the times are asked for
  bool is_flushed = false;       // GPU and Transfer: the CPU waits for it, but not for what follows
  bool is_gate = false;          // CPU: a later GPU or Transfer step waits for its user event
  bool waits_by_flag = false;    // for `cpu_wait`; of the CPU, for the compute queue's
  bool sets_flag = false;        // somebody waits for its flag
  bool is_in_place = false;      // a kernel that has nothing to move
  uint32_t recorded_end = 0;     // the first of a recording: the end of its steps

  bool is_cpu() const { return queue == Queue::Cpu; }
  uint32_t cl_queue() const { return queue == Queue::Transfer ? kTransferQueue : kComputeQueue; }
};

// Returns true if a wait of the variant is by flag.
bool wants_flags(const plan::VariantDef& variant);

// A step list is made from these. Everything is borrowed and must outlive it.
struct StepListInputs {
  const codl_plan* plan = nullptr;
  const plan::EntryDef* entry = nullptr;
  const plan::VariantDef* variant = nullptr;  // one of the entry's
  uint8_t* host_arena = nullptr;
  GpuTensors memory;                // a variant without GPU steps has none
  GpuPrograms* programs = nullptr;  // null there
  Gate gate = Gate::HostEnqueue;
  bool record_timeline = false;
  uint64_t seed = 0;           // as in the session's options
  bool has_flags = false;      // else waits by flag are by event
  uint32_t most_recorded = 0;  // a recording may have so many kernels; 0: nothing is recorded
};

class StepList {
 public:
  StepList() = default;
  StepList(const StepList&) = delete;
  StepList& operator=(const StepList&) = delete;

  // Call once per object.
  codl_status_t create(const codl_allocator_t& allocator, const StepListInputs& inputs,
                       codl_diag_t* diag);

  const Array<Step>& steps() const { return steps_; }
  uint64_t scratch_bytes() const { return scratch_bytes_; }  // a worker needs at most so many
  uint64_t shared_bytes() const { return shared_bytes_; }    // likewise, but all workers share it
  // Returns the last step of each queue that no CPU step has waited for, or kNoStep.
  const uint32_t* final_waits() const { return final_waits_; }

  // True if steps wait by flags: then GPU and Transfer steps are enqueued as early as they may be.
  bool is_ahead() const { return is_ahead_; }

  // Binds memory for the next run. `index`: the plan's inputs, then its outputs.
  void set_io(size_t index, void* data) { io_[index] = data; }
  // Call these when a Map step is enqueued, and when its Unmap is. The address stays after that:
  // with user events both are enqueued before the CPU steps between them run.
  void set_mapped(uint32_t map_step, void* data) {
    mapped_[map_step] = data;
    needs_unmap_[map_step] = true;
  }
  void set_unmapped(uint32_t map_step) { needs_unmap_[map_step] = false; }
  void* mapped(uint32_t map_step) const { return mapped_[map_step]; }
  bool needs_unmap(uint32_t map_step) const { return needs_unmap_[map_step]; }

 private:
  codl_status_t prepare_kernel(uint32_t index, codl_diag_t* diag);
  codl_status_t prepare_cpu_kernel(Step& step, const kernels::StepShape& shape,
                                   const kernels::StepNeeds& needs, codl_diag_t* diag);
  void prepare_map(uint32_t index);
  void prepare_transfer(Step& step);
  void reduce_waits(bool has_user_events, bool record_timeline);
  bool find_recordings(const codl_allocator_t& allocator);
  void* const* source_of(uint32_t tensor) const;

  StepListInputs inputs_;
  Array<Step> steps_;
  Array<kernels::TensorView> views_;  // views of all CPU kernel steps, one after the other
  Array<void* const*> sources_;       // parallel to views_
  size_t view_count_ = 0;
  Array<void*> fixed_;       // indexed by tensor: its address if it never moves
  Array<void*> io_;          // inputs, then outputs
  Array<void*> mapped_;      // indexed by step: where its Map put the tensor
  Array<bool> needs_unmap_;  // indexed by step: enqueued, and its Unmap is not
  // Holds the latest Map of each tensor so far, while create() goes through.
  Array<uint32_t> last_maps_;
  uint64_t scratch_bytes_ = 0;
  uint64_t shared_bytes_ = 0;
  bool is_ahead_ = false;
  uint32_t final_waits_[kQueueCount] = {kNoStep, kNoStep};
};

}  // namespace codl::rt
