// Gives a variant's tensors their offsets. The largest come first, each into the tightest gap, or,
// on the device, into the tightest place that others use before or after.
#pragma once

#include <string>

#include "compiler/device/device_profile.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Fills offset_bytes of the tensors in arenas, the numbers of images, and the sizes of both.
// Returns an Internal error if no arena or image can hold a tensor (the partition must not make
// one).
llvm::Error plan_memory(Variant& variant, const DeviceProfile& profile);

// Checks the memory plan without knowing how it was made:
//   - Two tensors share a byte (or an image) only if every step that touches one is ordered before
//     every step that touches the other, or if one lies in the other as Reshapes and Slices leave
//     it, or is a window of a Concat's result and lies at its channels.
//   - A tensor that its step's shape says is in place lies in the operand.
//   - Two Device tensors lie in one place or have no byte in common.
//   - Alignments and arena sizes hold.
//   - An image slot is at least as large as each tensor in it, and of its dtype.
// The Internal error names both tensors.
llvm::Error check_memory_plan(const Variant& variant);

// Prints one line per placed tensor, with `steps` from the first that touches it to the last, then
// the sizes: "t1 conv1 shared offset=1024 bytes=512 steps=[1,3]".
std::string print_memory(const Variant& variant);

}  // namespace codl::compiler
