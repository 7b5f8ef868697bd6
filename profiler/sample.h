// Measured steps, and the file that keeps them: one line per sample, so that a run that was
// interrupted goes on where it was, and a fit can be made again without measuring.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/fit.h"
#include "profiler/step_case.h"

namespace codl::profiler {

struct Sample {
  const KernelRow* row = nullptr;
  StepCase item;
  double us = 0;              // median of the runs, at the clock that `probe` says is usual
  double spread_percent = 0;  // half the range of the middle half of the runs
  int32_t run_count = 0;
  bool is_repeat = false;  // of a step that another line of the file has: for the noise floor
};

// kernels::model_features_of() as the contracts of this build see the step.
NamedFeatures features_of(const KernelRow& row, const StepCase& item, int32_t thread_count);

// One line, no end of line.
//   symbol,revision,us,spread_percent,runs,repeat,part_dim begin end,params...,operand...
std::string to_line(const Sample& sample);

// Samples of rows and revisions that this build has; steps that a contract no longer lets pass are
// left out. Throws ToolError (Input) naming the line if the text is no sample file.
std::vector<Sample> read_samples(std::string_view text, const std::string& path);

}  // namespace codl::profiler
