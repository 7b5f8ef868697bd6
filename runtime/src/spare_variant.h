// The CPU variant that a session keeps beside one with GPU steps, ready to run: what fails on the
// device is finished here.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/executor.h"
#include "runtime/src/plan.h"
#include "runtime/src/step_list.h"

namespace codl::rt {

// The plan's first variant without a GPU step; null if there is none.
const plan::VariantDef* find_cpu_variant(const codl_plan& plan);

class SpareVariant {
 public:
  SpareVariant() = default;
  SpareVariant(const SpareVariant&) = delete;
  SpareVariant& operator=(const SpareVariant&) = delete;

  // Everything given is borrowed and must outlive this. Its arena is its own: a device whose queue
  // could not be emptied may still write to that of the other variant. Once per object.
  codl_status_t create(const codl_allocator_t& allocator, const codl_plan& plan,
                       const plan::VariantDef& variant, CpuPool& pool, bool record_timeline,
                       codl_diag_t* diag);

  void set_cancel(const std::atomic<bool>* cancel) { executor_.set_cancel(cancel); }
  codl_status_t run(codl_diag_t* diag) { return executor_.run(diag); }

  const plan::VariantDef& variant() const { return *variant_; }
  StepList& steps() { return steps_; }
  const Executor& executor() const { return executor_; }
  uint64_t host_bytes() const { return host_arena_.size_bytes(); }

 private:
  const plan::VariantDef* variant_ = nullptr;
  Arena host_arena_;
  StepList steps_;
  Executor executor_;
};

}  // namespace codl::rt
