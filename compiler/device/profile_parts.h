// Declares functions that read parts of a profile in files of their own, and what these share. It
// is private to this folder.
#pragma once

#include <map>
#include <string>

#include "compiler/device/device_profile.h"
#include "compiler/support/json_reader.h"

namespace codl::compiler {

// Holds the profile's table of sources: texts by id.
using Sources = std::map<std::string, std::string>;

// Limits the power of ten of shares, factors and percents. They multiply times that a machine's
// facts can make long already; with this limit no step's time exceeds what a plan can hold.
inline constexpr int kMaxSharePower = 6;
inline constexpr int kMaxPercentPower = 4;

// Reads "origin" and "source" of an object; the value is left 0.
Quantity read_origin(const JsonValue& json, const Sources& sources);

// Returns null if there is no such kernel.
const KernelInfo* find_symbol(llvm::StringRef symbol);

// Reads the GPU's "tiles" into profile.gpu_facts.tiles, and into profile.tiles for people.
void read_tiles(const JsonValue& json, const Sources& sources, DeviceProfile& profile);

// Reads a processor's "machine" into profile.machine, and into profile.facts for people.
void read_machine(const JsonValue& json, Processor processor, const Sources& sources,
                  DeviceProfile& profile);

// Returns the names of a list with one or more, with commas between.
std::string joined_names(const JsonValue& json);

// Reads "soc" and the processors' "facts", after their machines, into profile.facts. Refuses facts
// that contradict each other or the machine.
void read_soc(const JsonValue& json, const Sources& sources, DeviceProfile& profile);
void read_cpu_facts(const JsonValue& json, const Sources& sources, DeviceProfile& profile);
void read_gpu_facts(const JsonValue& json, const JsonValue& machine, const Sources& sources,
                    DeviceProfile& profile);

// Refuses a cache that is larger than the next one.
void check_caches(const JsonValue& machine, Processor processor, const DeviceProfile& profile);

// Reads "families" and "kernels" of the profile's root, after both machines, into profile.kernels.
void read_calibrations(const JsonValue& root, const Sources& sources, DeviceProfile& profile);

}  // namespace codl::compiler
