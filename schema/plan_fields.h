// Reads fields of plan.fbs by their meaning. The plan must be verified; verify_plan itself asks
// is_known().
#pragma once

#include "schema/plan.h"
#include "schema/plan_generated.h"

namespace codl {

// Returns the plan's only entry.
inline const plan::EntryDef& entry_of(const plan::PlanDef& plan) { return *plan.entries()->Get(0); }

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
