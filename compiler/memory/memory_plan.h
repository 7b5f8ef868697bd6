// Offsets for a variant's tensors: by size, the largest first, each into the tightest gap, or, on
// the device, into the tightest place that others have before or after.
#pragma once

#include <string>

#include "compiler/device/device_profile.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Fills offset_bytes of the tensors that arenas hold, the numbers of images, and the sizes of both.
// Internal error: a tensor that no arena or image can hold (the partition must not make one).
llvm::Error plan_memory(Variant& variant, const DeviceProfile& profile);

// Independent of how the plan was made: no two tensors share a byte (or an image) unless every step
// that touches one is ordered before every step that touches the other, or one lies in the other as
// Reshapes and Slices leave it (what is in place by its step's shape must lie so), or is a window
// of a Concat's result where that has its channels; two Device tensors lie in one place or have no
// byte in common; alignments and arena sizes hold; an image slot is at least as large as each
// tensor in it, and of its dtype. Internal error: names both tensors.
llvm::Error check_memory_plan(const Variant& variant);

// One line per tensor that was placed, `steps` from the first that touches it to the last, then the
// sizes: "t1 conv1 shared offset=1024 bytes=512 steps=[1,3]".
std::string print_memory(const Variant& variant);

}  // namespace codl::compiler
