// Offsets for a schedule's tensors: by size, the largest first, each into the tightest gap, or, on
// the device, into the tightest place that others have before or after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

// One image of the pool; tensors of one dtype that are never live together take turns in it, each
// from (0, 0).
struct ImageSlot {
  uint32_t width = 0;  // texels
  uint32_t height = 0;
  DType dtype = DType::F32;
};

struct MemoryPlan {
  // By tensor: offset in its arena (Host, Shared, Device), or number of its image (Image), else 0.
  std::vector<uint64_t> offset_bytes;
  uint64_t host_bytes = 0;
  uint64_t shared_bytes = 0;
  uint64_t device_bytes = 0;
  std::vector<ImageSlot> images;
};

// Internal error: a tensor that no arena or image can hold (the partition must not make one).
llvm::Expected<MemoryPlan> plan_memory(const Schedule& schedule, const DeviceProfile& profile);

// Independent of how the plan was made: no two tensors share a byte (or an image) unless every step
// that touches one is ordered before every step that touches the other, or one is a copy of the
// other, made by Reshapes, in the same place; two Device tensors lie in one place or have no byte
// in common; alignments and arena sizes hold; an image slot is at least as large as each tensor in
// it, and of its dtype. Internal error: names both tensors.
llvm::Error check_memory_plan(const Schedule& schedule, const MemoryPlan& plan);

// One line per tensor that was placed, `steps` from the first that touches it to the last, then the
// sizes: "t1 conv1 shared offset=1024 bytes=512 steps=[1,3]".
std::string print(const Schedule& schedule, const MemoryPlan& plan);

}  // namespace codl::compiler
