// A device profile is everything that codlc knows about a device. docs/reference/profile_format.md
// describes the JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cost/calibration.h"
#include "compiler/cost/transfer.h"
#include "compiler/device/learned_steps.h"
#include "kernels/common/work/gpu_facts.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "schema/plan.h"
#include "schema/tables.h"

namespace codl::compiler {

// Holds power in watts: the device's at rest, and what each processor adds while it is busy.
struct PowerFigures {
  Quantity base_w;
  Quantity cpu_w;
  Quantity gpu_w;
};

// Is a fact for people and reports; nothing is computed from it.
struct DeviceFact {
  std::string name;   // "cpu cluster", "gpu wave"
  std::string value;  // with its unit
};

// Says whether a profile describes a phone, another machine, or no device in particular.
enum class DeviceKind { Phone, Machine, Template };

struct DeviceProfile {
  std::string name;  // characters A-Z a-z 0-9 _ . -
  // Names the profile that this one has as its base, that one's base, and so on.
  std::vector<std::string> bases;
  std::string description;
  DeviceKind kind = DeviceKind::Machine;
  int32_t chip_year = 0;  // when the chip came out; 0: not known
  int32_t year = 0;       // when most numbers were measured or published; 0: not known
  // Names the kernel library that the calibration describes: a profile is for a device and a
  // library.
  std::string kernel_library;
  uint64_t hash = 0;  // XXH3 of the file's bytes

  std::string cpu_name;
  Machine machine;  // cpu_threads is for plans that use both processors
  // Holds each worker's speed relative to the first, which is the fastest: 1, then 0.0001 to 1. If
  // it is empty, all are 1.
  std::vector<double> cpu_worker_speeds;
  std::string gpu_name;
  bool has_gpu = false;
  bool shares_cores = false;         // OpenCL computes on the cores of the CPU
  Layout gpu_layout = Layout::Nhwc;  // for rank-4 values on the GPU: Nhwc (buffers) or Image2d
  kernels::GpuFacts gpu_facts;
  Gate gate = Gate::HostEnqueue;
  int32_t image_max_width = 0;   // texels, CL_DEVICE_IMAGE2D_MAX_WIDTH
  int32_t image_max_height = 0;  // texels, CL_DEVICE_IMAGE2D_MAX_HEIGHT
  int32_t image_row_texels = 1;  // rows of images are padded to a multiple of this
  TransferCosts transfer;
  // The host takes this long to enqueue a GPU step; the step's terms do not contain it.
  Quantity launch_us;
  // Says, by processor, how much longer a step usually takes than predicted. Predictions describe
  // undisturbed runs.
  Quantity interference_percent[2];
  // Says, by processor, how many megabytes of weights the last-level cache keeps from one run of a
  // network to the next.
  Quantity warm_weight_mbytes[2];
  std::optional<PowerFigures> power;
  std::vector<DeviceFact> facts;   // in the file's order
  std::vector<DeviceFact> quirks;  // known faults of the device: name and text
  std::vector<DeviceFact> tiles;   // indexed by kernel symbol: where gpu_facts.tiles came from
  // Holds, by kernel id - 1, the profile's calibration of the kernel, else of its family, else what
  // other machines have for the family.
  std::vector<Calibration> kernels{kKernelCount};
  std::vector<uint16_t> unused_kernels;  // kernels that the user does not want
  // They come from plans that ran on the device; the file contains none.
  LearnedSteps learned;
  // busy_profile() multiplies all CPU kernels by this, relative to what was learned.
  double cpu_slow_down = 1;

  // Returns true for the device's own name and those of its bases: what ran a plan made for one of
  // them may be this device.
  bool covers(llvm::StringRef device) const;

  // Returns cpu_worker_speeds in the unit of plans and kernels::WorkMachine.
  std::vector<uint16_t> worker_speeds() const;

  const Calibration& calibration_of(const KernelInfo& kernel) const {
    return kernels[kernel.id - 1];
  }
};

// Reads a profile. Every unknown or missing key is an Input error with its JSON path; `path` is for
// messages. A "base" is a profile that load_device_profile() finds.
llvm::Expected<DeviceProfile> parse_device_profile(llvm::StringRef json, llvm::StringRef path);

// Returns where the profile of that name is: in share/codl/profiles of the program's install tree
// or build tree.
std::string profile_path(llvm::StringRef name);

// Loads a profile by a name ("sd855", or another of device_names.h) or by a path that ends in
// .json. The Input error says what the name may mean.
llvm::Expected<DeviceProfile> load_device_profile(llvm::StringRef name_or_path);

// Names that load_device_profile() takes, sorted.
std::vector<std::string> list_devices();

// Returns the text for --list-devices: the profiles of list_devices(), phones first, then other
// machines, then templates; or, if there are `names`, a heading and a line for each of them.
llvm::Expected<std::string> describe_devices(llvm::ArrayRef<std::string> names);

// Returns the origin's name in profiles and texts: "measured".
const char* name_of(Origin origin);

// Returns the text for codl-dump: everything but the sources, one fact a line; numbers with their
// origin.
std::string describe(const DeviceProfile& profile);

// Returns how many microseconds a GPU step may take for each one predicted of it alone: both
// processors are usually disturbed, and the CPU computes at the same time.
double crowded_factor(const DeviceProfile& profile);

}  // namespace codl::compiler
