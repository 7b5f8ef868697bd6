// A device profile: what codlc knows of a phone. JSON format: docs/PROFILE_FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/common/gpu_facts.h"
#include "kernels/model_term.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "schema/plan.h"
#include "schema/tables.h"

namespace codl::compiler {

// Where a number comes from. Predicted is never written as measured.
//   Measured   by this project, on the device that the source names
//   Fitted     such that a model meets measurements of others; the source says which
//   Published  read from a paper or data sheet
//   Assumed    the source says why
enum class Origin { Measured, Fitted, Published, Assumed };

struct Quantity {
  double value = 0;  // finite, 0 or more
  Origin origin = Origin::Assumed;
  std::string source;  // text, resolved from the profile's table of sources
};

// latency_us = sum of coefficient * feature (kernels::features_of), over the floor
// (kernels::over_floor_us). The feature "steps" is 1 for every step; a feature that a step does not
// have counts as 0.
struct LatencyModel {
  uint16_t kernel_id = 0;
  struct Term {
    Term(std::string term, Quantity quantity)
        : feature(std::move(term)), coefficient(std::move(quantity)) {
      const kernels::ModelTerm part(feature);
      name_length = part.feature.size();
      low = part.low;
      high = part.high;
    }
    // Microseconds that the term adds to a step with so much of the feature.
    double of(double value) const {
      return value <= low ? 0 : coefficient.value * ((value < high ? value : high) - low);
    }
    std::string_view name() const { return std::string_view(feature).substr(0, name_length); }

    std::string feature;   // as the profile has it: kernels/model_term.h
    Quantity coefficient;  // microseconds per unit of the feature
    size_t name_length;    // what follows: read once, predictions are many
    double low;
    double high;
  };
  std::vector<Term> terms;
  double floor_us = 0;  // 0: none
  // Made by codl-profile: the features are those of kernels::model_features_of().
  bool is_fitted = false;
  // Of a fitted model: nine measurements in ten were between prediction * interval_low and
  // prediction * interval_high or above and below, one in ten on each side. 0: not known.
  double interval_low = 0;
  double interval_high = 0;
  // The row's revision that was measured; 0: not known.
  int32_t revision = 0;
};

// Of an upload or download: what its call takes of the host's time, and what it takes after that.
struct CopyCosts {
  Quantity call_us;
  Quantity call_us_per_mb;
  Quantity rest_us;
  Quantity rest_us_per_mb;
};

// What a replay pays for giving work away and for seeing it done, by kind. The host is the thread
// of the CPU lane: it computes nothing while it calls.
struct HostCosts {
  Quantity enqueue_us;  // a call for a queue that has other work
  Quantity submit_us;   // a call for an idle queue
  Quantity start_us;    // from that call to the start of the command
  Quantity wake_us;     // from the end of a command to the host that polls for it
  // Of a step behind the other lane's: what the CPU's takes longer because its workers slept, and
  // what either takes longer by the bytes that the other lane's caches have.
  Quantity cpu_resume_us;
  Quantity cpu_cold_us_per_mb;
  Quantity gpu_cold_us_per_mb;
  // Separate memories:
  Quantity queue_us;  // from the end of a command to the start of one in the other queue
  CopyCosts upload;
  CopyCosts download;
  bool download_call_waits = false;  // for the kernel that the download waits for
};

// Costs of handing data from one lane to the other, in one direction; microseconds, MB = 1e6 bytes.
struct ExchangeCosts {
  Quantity sync_us;               // one hand-off: event, poll or queue round trip
  Quantity map_us;                // fixed part of map + unmap (SubBuffer)
  Quantity map_us_per_mb;         // cache maintenance by size
  Quantity copy_us_per_mb;        // Upload, Download (Separate)
  std::optional<HostCosts> host;  // takes the place of sync_us and copy_us_per_mb
  // Slow-down of a lane while the other runs, by processor.
  Quantity contention_percent[2];
};

// Watts: what the device draws at rest, and what each lane adds while it is busy.
struct PowerFigures {
  Quantity base_w;
  Quantity cpu_w;
  Quantity gpu_w;
};

// For people and reports; nothing is computed from them.
struct DeviceFact {
  std::string name;   // "cpu cluster", "gpu wave"
  std::string value;  // with its unit
};

// What a profile is of: a phone, another machine, or no device in particular.
enum class DeviceKind { Phone, Machine, Template };

struct DeviceProfile {
  std::string name;  // characters A-Z a-z 0-9 _ . -
  std::string description;
  DeviceKind kind = DeviceKind::Machine;
  int32_t chip_year = 0;  // in which the chip came out; 0: not told
  int32_t year = 0;       // in which most of the numbers were measured or published; 0: not told
  // Whose kernels the models describe: a profile is for a device and a kernel library.
  std::string kernel_library;
  uint64_t hash = 0;  // XXH3 of the file's bytes

  std::string cpu_name;
  int32_t cpu_threads = 1;  // CPU lane of a plan with both lanes
  // Of each worker, relative to the first, which is the fastest: 1, then 0.0001 to 1. Empty: all 1.
  std::vector<double> cpu_worker_speeds;
  int32_t cpu_vector_lanes = 16;  // kernels::LaneFacts
  std::string gpu_name;
  bool has_gpu = false;
  Layout gpu_layout = Layout::Nhwc;  // Nhwc (buffers) or Image2d: of rank-4 values on the GPU
  kernels::GpuFacts gpu_facts;
  Sharing sharing = Sharing::FineSvm;  // never None
  Gate gate = Gate::HostEnqueue;
  int32_t image_max_width = 0;   // texels, CL_DEVICE_IMAGE2D_MAX_WIDTH
  int32_t image_max_height = 0;  // texels, CL_DEVICE_IMAGE2D_MAX_HEIGHT
  int32_t image_row_texels = 1;  // rows of images are padded to a multiple of so many
  bool copies_weights = false;   // the GPU cannot read those of the plan where they are
  ExchangeCosts exchange;
  // Of a GPU step beside what its model says: the host's work to enqueue it. 0: in the models.
  Quantity launch_us;
  // By processor: what a step usually takes more than its model says, which is of undisturbed runs.
  Quantity disturbance_percent[2];
  // By processor: so many weights its last cache keeps from one run of a network to the next.
  Quantity warm_weight_mbytes[2];
  std::optional<PowerFigures> power;
  std::vector<DeviceFact> facts;     // in the file's order
  std::vector<DeviceFact> quirks;    // name and text: what is known to be wrong with the device
  std::vector<DeviceFact> tiles;     // by kernel symbol: what gpu_facts.tiles came from
  std::vector<LatencyModel> models;  // by kernel id
  // "any_cpu" and "any_gpu", by processor: of rows without a model of their own. Without terms:
  // such rows are not used on this device.
  LatencyModel any_models[2];
  // Rows that are not used, whatever models there are: the user does not want them; or nothing is
  // known of them, while there is a model for another GPU row of their operator and layout.
  std::vector<uint16_t> unused_kernels;

  // cpu_worker_speeds as plans and kernels::WorkMachine have them.
  std::vector<uint16_t> worker_speeds() const;

  // Null: the row is not used.
  const LatencyModel* model_of(uint16_t kernel_id) const;
};

// Reads a profile; every unknown or missing key is an Input error with its JSON path. `path` is for
// messages. A "base" is a profile that load_device_profile() finds.
llvm::Expected<DeviceProfile> parse_device_profile(llvm::StringRef json, llvm::StringRef path);

// `name_or_path`: a name ("sd855": <name>.json in share/codl/profiles of the install tree that the
// program is in, else in the source tree's profiles/) or a path that ends in .json. Input error:
// lists the names there are, and the nearest.
llvm::Expected<DeviceProfile> load_device_profile(llvm::StringRef name_or_path);

// Names that load_device_profile() takes, sorted.
std::vector<std::string> list_devices();

// Text for --list-devices: the profiles of list_devices(), phones first, then other machines, then
// templates.
llvm::Expected<std::string> describe_devices();

// Text for codl-dump: everything but the sources, a line each; numbers with their origin.
std::string describe(const DeviceProfile& profile);

}  // namespace codl::compiler
