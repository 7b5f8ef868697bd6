// Makes the profile of a device whose CPU other programs use, too. Variants "busy" are planned for
// it.
#pragma once

#include "compiler/device/device_profile.h"

namespace codl::compiler {

// CPU times are multiplied by this. It is assumed: one competing process runs on every core, and
// the scheduler gives it half of the core.
inline constexpr double kBusySlowdown = 2;
// Each synchronisation takes this many microseconds more. It is assumed: every other time the
// host's thread is off its core for half a slice of 3 ms, which is what Linux gives a competing
// process (EEVDF's base_slice_ns on 8 cores).
inline constexpr double kBusySyncUs = 750;

// Returns the profile with both changes; its numbers for the GPU stay.
DeviceProfile busy_profile(DeviceProfile profile);

}  // namespace codl::compiler
