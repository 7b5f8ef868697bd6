// Predicts steps by what the same, or similar ones, took on the device in plans that ran there.
#pragma once

#include "compiler/device/device_profile.h"
#include "compiler/simulate/measured/measured_steps.h"

namespace codl::compiler {

// Adds to `learned` what the plan's measured steps teach beyond the profile's predictions
// (`profile` has learned nothing yet). Transfers teach nothing. `path` is the measurements'.
// Returns an Input error if no variant has any, if they are not of its steps or are off a thousand
// times, or if a kernel does not run on the profile's device.
llvm::Error learn_steps(const PlanModel& plan, const std::vector<MeasuredSteps>& measured,
                        llvm::StringRef path, const DeviceProfile& profile, LearnedSteps& learned);

}  // namespace codl::compiler
