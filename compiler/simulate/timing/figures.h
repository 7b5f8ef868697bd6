// Computes the figures of a variant that limits and objectives compare (partition/limits.h).
#pragma once

#include "compiler/device/device_profile.h"
#include "compiler/partition/limits.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Counts waits of one queue for a step of another, as the simulator charges them.
uint32_t count_syncs(const Variant& variant);

// Returns the bytes of the variant's arenas and images, with rows of images padded as the device
// does; 0 for a variant before plan_memory().
uint64_t arena_bytes_of(const Variant& variant, const DeviceProfile& profile);

// Expects a variant that has been through predict(). Returns an Input error for a kernel that the
// profile's device cannot run.
llvm::Expected<PlanFigures> figures_of(const Variant& variant, const DeviceProfile& profile);

}  // namespace codl::compiler
