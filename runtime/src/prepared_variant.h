// Holds a variant of a plan that a session has made ready to run. Several take turns in one
// session: they share its workers, queues and programs, and have their tensors in the same memory.
#pragma once

#include <atomic>
#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/executor.h"
#include "runtime/src/plan.h"
#include "runtime/src/step_checker.h"
#include "runtime/src/step_list.h"

namespace codl::rt {

struct PreparedVariant;

// Holds what a session has ready of one entry of the plan. All entries take turns like variants.
struct PreparedEntry {
  const plan::EntryDef* def = nullptr;
  // The next run at these shapes takes it; any thread may write it.
  std::atomic<PreparedVariant*> current{nullptr};
  PreparedVariant* spare = nullptr;  // finishes what the device fails at; null: nothing
};

struct PreparedVariant {
  PreparedVariant() = default;
  PreparedVariant(const PreparedVariant&) = delete;
  PreparedVariant& operator=(const PreparedVariant&) = delete;
  ~PreparedVariant() {
    if (checker != nullptr) destroy_object(allocator, checker);
  }

  const plan::VariantDef& def() const { return *inputs.variant; }
  const char* name() const { return def().name()->c_str(); }
  bool has_gpu() const { return inputs.programs != nullptr; }
  bool is_spare() const { return this == entry->spare; }

  codl_allocator_t allocator = {};
  PreparedEntry* entry = nullptr;
  StepListInputs inputs;
  StepList steps;
  Executor executor;
  StepChecker* checker = nullptr;      // null: nothing is checked
  std::atomic<uint64_t> run_count{0};  // runs that ended well
  std::atomic<float> cpu_us{0};        // the CPU steps of the last run took so long
};

}  // namespace codl::rt
