// From samples to a profile file (docs/PROFILE_FORMAT.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/exchange.h"
#include "profiler/sample.h"
#include "profiler/tiles.h"

namespace codl::profiler {

// The model of a row, or of all rows of a processor without one (symbol any_cpu, any_gpu).
struct FittedModel {
  std::string symbol;
  int32_t revision = 0;  // 0: of several rows
  StepModel model;
  Residuals held_out;  // of a five-fold cross-validation
};

// Fewer samples of a kernel say nothing.
inline constexpr size_t kSamplesOfModel = 8;

// A model for every row with enough samples, then any_cpu and, with GPU samples, any_gpu.
std::vector<FittedModel> fit_models(const std::vector<Sample>& samples,
                                    const kernels::LaneFacts& lane);

// Symbols of kernels that have `kernels` in them, and fewer samples than read_needed() says, in the
// table's order. A sample file from before it had such lines needs models of what it has samples
// of.
std::vector<std::string> kernels_without_model(const std::vector<Sample>& samples,
                                               const std::map<std::string, size_t>& needed,
                                               std::string_view kernels);

// For evaluations: a line per sample that is no repeat, "symbol,fold,us,held-out prediction in us,"
// and features "name=value" with spaces between; the folds are those of fit_models().
std::string evaluation_text(const std::vector<Sample>& samples, const kernels::LaneFacts& lane);

// How often a second measurement of a step is within 10 % of the first; -1 without repeats.
double noise_floor_percent(const std::vector<Sample>& samples, Processor processor);

// By how much the processor's steps take longer in the mean than undisturbed, as models have them:
// of all steps that were visited more than once, the mean of visits' median runs over the
// undisturbed ones. 0 without such steps.
double disturbance_percent(const std::vector<Sample>& samples, Processor processor);

struct DeviceFacts {
  std::string name;
  std::string description;
  int32_t year = 0;  // of the measurements; 0: an older sample file does not say
  std::string cpu_name;
  kernels::LaneFacts lane;
  bool has_gpu = false;
  std::string gpu_name;
  bool uses_images = false;
  // What lane.gpu.tiles came from.
  std::vector<FoundTile> tiles;
  std::string sharing;  // as in the profile
  double image_max_width = 0;
  double image_max_height = 0;
  // What a session holds there: old sample files have neither.
  double image_row_texels = 0;  // rows of images take a multiple of so many; 0: not known
  std::string weights;          // as in the profile; empty: not known
  double launch_us = 0;         // beside the times of GPU steps; 0 where these have it in them
  // Follow from `exchange`, which old sample files lack.
  double sync_us = 0;
  double map_us = 0;
  double map_us_per_mb = 0;
  double copy_us_per_mb = 0;
  std::vector<ExchangePoint> exchange;
  double cpu_contention_percent = 0;
  double gpu_contention_percent = 0;
  bool contention_is_assumed = false;  // old sample files do not say so: they measured it
  double disturbance_percent[2] = {};  // by processor
  double warm_weight_mbytes[2] = {};   // by processor
  double cpu_probe_us = 0;             // at the clock that the CPU's models are for; 0: not known
  std::string source;                  // which device, tool, driver, date
};

// Exchange points, and what follows from them.
void set_exchange(std::vector<ExchangePoint> points, DeviceFacts* facts);

// Throws ToolError (Input) naming the number if one is none that codlc takes.
std::string profile_json(const DeviceFacts& facts, const std::vector<FittedModel>& models);

}  // namespace codl::profiler
