// Names by which people know a device: its chip's, the chip's model numbers, phones that have it.
#pragma once

#include <string>

#include "llvm/ADT/StringRef.h"

namespace codl::compiler {

// The profile of list_devices() that `name` means, whatever its case and punctuation: "sd8gen2" for
// "Snapdragon 8 Gen 2", "Qualcomm SM8550-AB" or "galaxy s23". Empty if there is none.
std::string find_device(llvm::StringRef name);

// For an input error on a name that is none: what it may mean, or some devices.
// `FILE.json or a device of --list-devices, found "Pixel 8" (did you mean Pixel 7 (tensor_g2)?)`
std::string expected_device(llvm::StringRef name);

}  // namespace codl::compiler
