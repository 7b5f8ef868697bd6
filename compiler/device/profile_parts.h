// Parts of a profile that are read by files of their own, and what these share. Of this folder.
#pragma once

#include <map>
#include <string>

#include "compiler/device/device_profile.h"
#include "compiler/support/json_reader.h"

namespace codl::compiler {

// Texts of the profile's table of sources, by id.
using Sources = std::map<std::string, std::string>;

// Shares, factors and percents multiply times that a machine's facts can make long already: with
// these no time of a step is beyond what a plan can hold. Powers of ten.
inline constexpr int kMaxSharePower = 6;
inline constexpr int kMaxPercentPower = 4;

// "origin" and "source" of an object; the value is left 0.
Quantity read_origin(const JsonValue& json, const Sources& sources);

// Null if there is none.
const KernelInfo* find_symbol(llvm::StringRef symbol);

// "tiles" of the GPU: profile.gpu_facts.tiles, and profile.tiles for people.
void read_tiles(const JsonValue& json, const Sources& sources, DeviceProfile& profile);

// "machine" of a processor: profile.machine, and profile.facts for people.
void read_machine(const JsonValue& json, Processor processor, const Sources& sources,
                  DeviceProfile& profile);

// The names of a list with one or more, with commas between.
std::string joined_names(const JsonValue& json);

// "soc", and "facts" of the processors, after their machines: profile.facts. What contradicts
// itself or the machine is refused.
void read_soc(const JsonValue& json, const Sources& sources, DeviceProfile& profile);
void read_cpu_facts(const JsonValue& json, const Sources& sources, DeviceProfile& profile);
void read_gpu_facts(const JsonValue& json, const JsonValue& machine, const Sources& sources,
                    DeviceProfile& profile);

// Refuses a cache that is larger than the one behind it.
void check_caches(const JsonValue& machine, Processor processor, const DeviceProfile& profile);

// "families" and "kernels" of the profile's root, after both machines: profile.kernels.
void read_calibrations(const JsonValue& root, const Sources& sources, DeviceProfile& profile);

}  // namespace codl::compiler
