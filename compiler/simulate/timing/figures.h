// Computes the figures of a variant that limits and objectives compare (partition/limits.h).
#pragma once

#include "compiler/device/device_profile.h"
#include "compiler/partition/limits.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Waits of one queue for a step of another, as the simulator charges them.
uint32_t count_syncs(const Variant& variant);

// Bytes of the variant's arenas and images, rows of images padded as the device does. Of a variant
// that plan_memory() has been through; 0 before.
uint64_t arena_bytes_of(const Variant& variant, const DeviceProfile& profile);

// The variant has been through predict().
// Input error: a kernel that the profile's device cannot run.
llvm::Expected<PlanFigures> figures_of(const Variant& variant, const DeviceProfile& profile);

}  // namespace codl::compiler
