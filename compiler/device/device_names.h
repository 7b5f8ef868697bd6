// Finds the profile of a device by a name that people use: its chip, the chip's model number, or a
// phone that has it.
#pragma once

#include <string>

#include "llvm/ADT/StringRef.h"

namespace codl::compiler {

// Returns the entry of list_devices() that `name` means, whatever its case and punctuation:
// "sd8gen2" for "Snapdragon 8 Gen 2", "Qualcomm SM8550-AB" or "galaxy s23". Empty if there is none,
// or more than one.
std::string find_device(llvm::StringRef name);

// Returns the text of the input error for an unknown name. It lists what a misspelt name may mean;
// a device that has no profile is answered with some that have.
// `FILE.json or a device of --list-devices, found "Pixl 7" (did you mean Pixel 7 (tensor_g2)?)`
std::string expected_device(llvm::StringRef name);

}  // namespace codl::compiler
