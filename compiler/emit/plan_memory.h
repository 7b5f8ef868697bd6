// Works out how much memory of each kind the sessions of a plan will hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "llvm/ADT/ArrayRef.h"
#include "schema/session_memory.h"

namespace codl::compiler {

// Memory of sessions with the plan's workers and the default allocator, if the plan is opened by
// its path, on the profile's device.
struct PlanMemory {
  std::vector<SessionMemory> variants;  // a session with this variant alone
  SessionMemory all;                    // a session with all variants (CODL_VARIANT_ADAPTIVE)
};
// `file` must be a verified plan.
PlanMemory memory_of_plan(llvm::ArrayRef<uint8_t> file, const DeviceProfile& profile);

// Returns "host arena 0.1, images 5.6, weights 2.4": megabytes (1e6 bytes) of the kinds that are
// not 0.
std::string print(const SessionMemory& memory);

uint64_t total_bytes(const SessionMemory& memory);

}  // namespace codl::compiler
