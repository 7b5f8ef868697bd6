// Turns samples into a profile file (docs/reference/profile_format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/work/step_work.h"
#include "profiler/fit/machine_facts.h"
#include "profiler/fit/sample.h"
#include "profiler/fit/tiles.h"
#include "profiler/measure/transfer.h"

namespace codl::profiler {

// Holds the fit of a kernel, or of all kernels of a family.
struct Fit {
  Shares shares;
  Residuals held_out;
  // Factors on a prediction: a tenth of the measured times lay below the low one, a tenth above the
  // high one.
  double interval_low = 1;
  double interval_high = 1;
};

struct KernelFit {
  const KernelInfo* kernel = nullptr;
  Fit fit;  // held-out errors are of a five-fold cross-validation
};

struct FamilyFit {
  Processor processor = Processor::Cpu;
  kernels::KernelFamily family = kernels::KernelFamily::Loops;
  // All kernels have the same weight. For the held-out errors, the others predict each kernel, as
  // they do for kernels without samples. If the family has one kernel, its other steps predict a
  // step, and the interval is no narrower than the family's on other machines.
  Fit fit;
};

struct Fits {
  std::vector<KernelFit> kernels;
  std::vector<FamilyFit> families;
};

// A share has so many significant digits. A profile has some hundreds of shares and a step ten;
// half of the last digit is 0.5 % of a term at most.
inline constexpr int kShareDigits = 3;

// A kernel, or a family, with so many samples gets shares of its own.
inline constexpr size_t kSamplesOfFit = 8;
inline constexpr size_t kSamplesOfFamily = 20;
// So many samples of a kernel or family are enough to fit one factor on the shares that others
// have: the kernel's family here, or the family on other machines. Fewer say nothing.
inline constexpr size_t kSamplesOfFactor = 3;

// Fits every kernel and every family of a processor that has enough samples.
Fits fit_samples(const std::vector<Sample>& samples, const ProcessorFacts& processor);

// Returns the symbols, in the table's order, of kernels that have `kernels` in their names and
// fewer samples than read_needed() says. An older sample file without such lines needs fits of the
// kernels that it has samples of.
std::vector<std::string> kernels_without_fit(const std::vector<Sample>& samples,
                                             const std::map<std::string, size_t>& needed,
                                             std::string_view kernels);

// Returns text for evaluations: per sample that is no repeat, a line with
// "symbol,family,fold,us,held-out prediction in us," and terms "name=us" with spaces between. The
// folds are those of fit_samples().
std::string evaluation_text(const std::vector<Sample>& samples, const ProcessorFacts& processor);

// Returns how often a second measurement of a step is within 10 % of the first, in percent; -1
// without repeats.
double noise_floor_percent(const std::vector<Sample>& samples, Processor processor);

// Returns by how much a processor's steps usually take longer than undisturbed, for which fits are.
// Over all steps with more than one visit, it is the mean of the visits' median runs over the
// undisturbed ones. 0 without such steps.
double interference_percent(const std::vector<Sample>& samples, Processor processor);

struct DeviceFacts {
  std::string name;
  std::string description;
  int32_t year = 0;  // when it was measured; 0: an older sample file does not say
  std::string cpu_name;
  MachineFacts machine;
  std::string machine_source;  // origin of the facts that were not measured
  bool has_gpu = false;
  std::string gpu_name;
  bool uses_images = false;
  std::vector<FoundTile> tiles;
  std::string sharing;  // as in the profile
  double image_max_width = 0;
  double image_max_height = 0;
  // Old sample files have neither.
  double image_row_texels = 0;  // padding of image rows; 0 if it is not known
  double launch_us = 0;         // besides GPU steps' times; 0 if they contain it
  // These follow from `transfer`, which old sample files lack.
  double sync_us = 0;
  double map_us = 0;
  double map_us_per_mb = 0;
  double copy_us_per_mb = 0;
  std::vector<TransferPoint> transfer;
  double network_sync_us = 0;  // there and back, in whole networks; 0 if it was not measured
  double cpu_contention_percent = 0;
  double gpu_contention_percent = 0;
  double memory_gb_per_s = 0;           // both processors together; 0 if it was not measured
  bool shares_cores = false;            // OpenCL computes on the CPU's own cores
  bool contention_is_assumed = false;   // old sample files lack it: they measured the contention
  double interference_percent[2] = {};  // indexed by processor
  double warm_weight_mbytes[2] = {};    // indexed by processor
  double cpu_probe_us = 0;              // at the clock that the CPU's fits are for; 0: not known
  std::string source;                   // device, tool, driver, date

  // Returns the times with the cost of synchronisations in whole networks, if that was measured.
  TransferTimes transfer_times() const;

  ProcessorFacts processor_facts() const {
    return profiler::processor_facts(machine.machine, gpu_tiles_of(tiles));
  }
};

// Sets the transfer points, and everything that follows from them.
void set_transfer(std::vector<TransferPoint> points, DeviceFacts* facts);

// Requires facts with a complete machine. Throws ToolError (Input) naming the number if codlc would
// refuse one.
std::string profile_json(const DeviceFacts& facts, const Fits& fits);

}  // namespace codl::profiler
