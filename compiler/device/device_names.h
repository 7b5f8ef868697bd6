// Compares names of devices: finds a profile by a name that people use (its chip, the chip's model
// number, or a phone that has it), and tells whether a driver's name means a profile's GPU.
#pragma once

#include <string>

#include "compiler/device/device_profile.h"
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

// Returns whether the OpenCL device that a driver reports by this name may be the profile's GPU; a
// template describes any. Letters and digits are compared, up to the first word of the profile's
// name with a number: "Mali-G76 r0p0" is a "Mali-G76 MC16", not a "Mali-G760". A driver that
// reports no number may have any GPU of the family: "QUALCOMM Adreno(TM)".
bool is_gpu_of(const DeviceProfile& profile, llvm::StringRef reported);

}  // namespace codl::compiler
