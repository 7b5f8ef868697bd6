// Parts of a profile that are read by files of their own, and what these share. Of this folder.
#pragma once

#include <map>
#include <string>

#include "compiler/device/device_profile.h"
#include "compiler/support/json_reader.h"

namespace codl::compiler {

// Texts of the profile's table of sources, by id.
using Sources = std::map<std::string, std::string>;

// "origin" and "source" of an object; the value is left 0.
Quantity read_origin(const JsonValue& json, const Sources& sources);

// Null if there is none.
const KernelRow* find_symbol(llvm::StringRef symbol);

// "tiles" of the GPU: profile.gpu_facts.tiles, and profile.tiles for people.
void read_tiles(const JsonValue& json, const Sources& sources, DeviceProfile& profile);

// As profiles and texts for people have it: "measured".
const char* name_of(Origin origin);

}  // namespace codl::compiler
