// Reads what codl-bench --json --steps measured, for comparison with what a plan predicts.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

struct MeasuredStep {
  std::string node;
  std::string kernel;
  double predicted_us = 0;  // that the plan has of it
  double start_us = 0;      // in the recorded run, from its begin
  double end_us = 0;
  double median_us = 0;
};

struct MeasuredSteps {
  std::string entry;  // PlanEntry::name
  std::string variant;
  double median_us = 0;  // over all runs, without recording
  std::vector<MeasuredStep> steps;

  double end_us() const {
    double end = 0;
    for (const MeasuredStep& step : steps) end = std::max(end, step.end_us);
    return end;
  }
};

// One variant's steps, or those of --all-variants. `measured_on`: part of the name of the machine
// that ran them; empty: it is the profile's device. Input error: no JSON, or not that of
// codl-bench, or of a plan for another device than the profile is of, or stands on, or of another
// machine.
llvm::Expected<std::vector<MeasuredSteps>> read_measured_steps(llvm::StringRef json,
                                                               llvm::StringRef path,
                                                               const DeviceProfile& profile,
                                                               llvm::StringRef measured_on);

// Returns those of a variant of the entry; null if there are none. Input error: they are not of its
// steps.
llvm::Expected<const MeasuredSteps*> measured_steps_of(llvm::ArrayRef<MeasuredSteps> measured,
                                                       llvm::StringRef path, llvm::StringRef entry,
                                                       const Variant& variant);

}  // namespace codl::compiler
