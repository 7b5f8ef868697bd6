// A device whose CPU other programs use, too: what variants "busy" are planned for.
#pragma once

#include "compiler/device/device_profile.h"

namespace codl::compiler {

// Times that the CPU takes as many. Assumed: one competing process on every core of the CPU's, to
// which the scheduler gives half of it.
inline constexpr double kBusySlowdown = 2;
// Microseconds that a synchronisation takes more. Assumed: every other time the host's thread is
// off its core, for half a slice of 3 ms, which is what Linux gives a process that competes
// (EEVDF's base_slice_ns on 8 cores).
inline constexpr double kBusySyncUs = 750;

// The profile with both; its numbers for the GPU as they are.
DeviceProfile busy_profile(DeviceProfile profile);

}  // namespace codl::compiler
