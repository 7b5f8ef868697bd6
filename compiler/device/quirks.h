// Kernels that a device was found to compute wrongly: what `codl-run --self-test --json` writes.
#pragma once

#include "compiler/device/device_profile.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Adds the kernels that `json` names to profile.unused_kernels: nodes that would use one get
// another kernel or the CPU. A kernel is avoided whole, whatever shape and tile it failed with: a
// driver that is wrong for one is not known to be right for the next. Where a kernel is among them
// that moves values between layouts and processors, no GPU kernel is used: there is no other way to
// move them. Input error, which names the file `path`, if it is no such report or names what is no
// GPU kernel.
llvm::Error avoid_quirks(llvm::StringRef json, llvm::StringRef path, DeviceProfile& profile);

}  // namespace codl::compiler
