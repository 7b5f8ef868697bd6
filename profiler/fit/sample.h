// Reads and writes measured steps. The file has one line per sample, so that an interrupted run can
// be continued, and a fit repeated without measuring.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/fit/fit.h"
#include "profiler/measure/step_case.h"

namespace codl::profiler {

// Says what a sample is for. The numbers are those of sample files, where 4 more means that the
// step has warm weights.
enum class SampleRole : int32_t {
  Fit = 0,
  Repeat = 1,   // repeats a step that has a sample already, for the noise floor
  Network = 2,  // is a step of a plan given with --plan: predicted, never fitted
};

// Interference only lengthens a run, so this quantile of a visit's runs is steadier than the
// median.
inline constexpr double kQuietShare = 0.25;

// Marks a line of a sample file, "#batch" or "#batch,1.03". The visits that follow, up to the next
// such line, took turns. The number says how much longer probes took around them than the one of
// "#probe", whose clock their times are at.
inline constexpr std::string_view kBatchMark = "#batch";

// Marks a line of a sample file, "#needed,conv2d_f32_cpu,8": a model of the kernel needs so many
// measured steps. The last line of a kernel counts; 0 means that the device cannot run it, or there
// are no further steps.
inline constexpr std::string_view kNeededMark = "#needed,";

struct Sample {
  const KernelInfo* kernel = nullptr;
  StepCase item;
  SampleRole role = SampleRole::Fit;
  // A visit is some runs in quick succession; visits are minutes apart. Each has its undisturbed
  // run here, at the clock that `probe` says is usual.
  std::vector<double> visits_us;
  std::vector<double> medians_us;  // medians of the visits' runs, computed from their spread
  // The step's time, which read_samples() derives from all visits. While sampling goes on, it is
  // the visit that a quarter are faster than.
  double us = 0;
  double spread_percent = 0;  // the last visit's: half the range of the middle half of its runs
  int32_t run_count = 0;      // number of runs in the last visit

  // Needs spread_percent.
  void add_visit(double visit_us);
};

// Holds the facts from which the times of steps follow.
struct ProcessorFacts {
  compiler::Machine machine;
  kernels::GpuFacts gpu;  // compiler::set_gpu_facts() of the machine, and the GPU's tiles
};

ProcessorFacts processor_facts(const compiler::Machine& machine, const kernels::GpuTiles& tiles);

// Returns compiler::times_of() for the step.
TermTimes times_of(const KernelInfo& kernel, const StepCase& item, const ProcessorFacts& processor);

// Writes the last visit as a line, without line end:
//   symbol,revision,us,spread_percent,runs,role,part_dim begin end,params...,operand...
std::string to_line(const Sample& sample);

// The same without the measured numbers: which step it is, and for which purpose.
std::string step_text(const Sample& sample);

// Reads samples of kernels and revisions that this build has, except steps that a contract no
// longer accepts. Lines of one step and role are visits of one sample. The effect of each batch,
// which depends on the bytes that its steps move, is removed from the times, and all are brought to
// the clock that is usual in the file. Throws ToolError (Input) naming the line if the text is no
// sample file. `out_usual_probes` gets, per processor, the median of the batches' probes: 1 is the
// clock of "#probe".
std::vector<Sample> read_samples(std::string_view text, const std::string& path,
                                 double (*out_usual_probes)[2] = nullptr);

// Reads other facts of the device, by name: lines "#fact,name,value" of a sample file, the last of
// a name.
std::map<std::string, std::string> read_facts(std::string_view text);

// Reads the lines with kNeededMark: samples needed per kernel symbol. Throws ToolError (Input)
// naming a malformed line.
std::map<std::string, size_t> read_needed(std::string_view text, const std::string& path);

}  // namespace codl::profiler
