// Reads fields of plan.fbs by their meaning. The plan must be verified; verify_plan itself asks
// is_known().
#pragma once

#include "schema/plan.h"
#include "schema/plan_generated.h"

namespace codl {

// Returns the entry that a session begins with.
inline const plan::EntryDef& first_entry_of(const plan::PlanDef& plan) {
  return *plan.entries()->Get(0);
}

// Returns the state that input or output i of the entry is, or its count of states: it is none.
inline uint32_t state_count(const plan::EntryDef& entry) {
  return entry.states() == nullptr ? 0 : entry.states()->size();
}
inline uint32_t state_of_input(const plan::EntryDef& entry, uint32_t i) {
  for (uint32_t s = 0; s < state_count(entry); ++s)
    if (entry.states()->Get(s)->input() == i) return s;
  return state_count(entry);
}
inline uint32_t state_of_output(const plan::EntryDef& entry, uint32_t i) {
  for (uint32_t s = 0; s < state_count(entry); ++s)
    if (entry.states()->Get(s)->output() == i) return s;
  return state_count(entry);
}

// Returns the place among the entry's inputs or outputs of the application's k-th, which is no
// state. There must be one.
inline uint32_t application_input(const plan::EntryDef& entry, uint32_t k) {
  for (uint32_t i = 0;; ++i)
    if (state_of_input(entry, i) == state_count(entry) && k-- == 0) return i;
}
inline uint32_t application_output(const plan::EntryDef& entry, uint32_t k) {
  for (uint32_t i = 0;; ++i)
    if (state_of_output(entry, i) == state_count(entry) && k-- == 0) return i;
}

inline Storage storage_of(const plan::TensorDef& tensor) {
  return static_cast<Storage>(tensor.storage());
}
inline StepKind kind_of(const plan::StepDef& step) { return static_cast<StepKind>(step.kind()); }
inline Queue queue_of(const plan::StepDef& step) { return static_cast<Queue>(step.queue()); }
inline MapAccess map_access_of(const plan::StepDef& step) {
  return static_cast<MapAccess>(step.map_access());
}
inline Sharing sharing_of(const plan::VariantDef& variant) {
  return static_cast<Sharing>(variant.sharing());
}
// `index`: of the step's waits.
inline WaitKind wait_kind_of(const plan::StepDef& step, uint32_t index) {
  const auto* kinds = step.wait_kinds();
  return kinds == nullptr || kinds->size() == 0 ? WaitKind::Event
                                                : static_cast<WaitKind>(kinds->Get(index));
}
inline Gate gate_of(const plan::VariantDef& variant) { return static_cast<Gate>(variant.gate()); }

}  // namespace codl
