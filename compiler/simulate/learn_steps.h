// Predictions of steps by what the same, or similar ones, took on the device in plans that ran
// there.
#pragma once

#include "compiler/device/device_profile.h"
#include "compiler/simulate/measured_steps.h"

namespace codl::compiler {

// Adds to `learned` what the plan's variants have measured steps of, beside what the profile
// predicts of them, in which nothing is learned yet. Transfers teach nothing. `path`: of the
// measurements. Input error: no variant has any, or they are not of its steps, or a thousand
// times off; a kernel that the profile's device does not run.
llvm::Error learn_steps(const PlanModel& plan, const std::vector<MeasuredSteps>& measured,
                        llvm::StringRef path, const DeviceProfile& profile, LearnedSteps& learned);

}  // namespace codl::compiler
