// Avoids kernels that a device was found to compute wrongly, as `codl-run --self-test --json`
// reports them.
#pragma once

#include "compiler/device/device_profile.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Adds the kernels that `json` names to profile.unused_kernels: nodes that would use one get
// another kernel or the CPU. A kernel is avoided altogether, whatever shape and tile it failed
// with, because a driver that is wrong for one is not known to be right for the next. If one of
// them moves values between layouts or processors, no GPU kernel is used, because there is no other
// way to move them. Returns an Input error, which names the file `path`, if the text is no such
// report or names something that is no GPU kernel.
llvm::Error avoid_quirks(llvm::StringRef json, llvm::StringRef path, DeviceProfile& profile);

}  // namespace codl::compiler
