// What limits and objectives are of (partition/limits.h), of a variant.
#pragma once

#include "compiler/device/device_profile.h"
#include "compiler/partition/limits.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Waits of one queue for a step of another, as the simulator charges them.
uint32_t count_syncs(const Variant& variant);

// Of a variant that predict() has been through; arena_bytes is what plan_memory() found, 0 before.
// Input error: a kernel that the profile's device cannot run.
llvm::Expected<PlanFigures> figures_of(const Variant& variant, const DeviceProfile& profile);

}  // namespace codl::compiler
