// How sure a plan's predicted latency is.
#pragma once

#include "compiler/device/device_profile.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

struct Uncertainty {
  // Nine tenths of the draws lie between.
  double low_us = 0;
  double high_us = 0;
  // Of the time of all steps and hand-offs, what rests on numbers that the profile assumes.
  double assumed_share = 0;
};

// From 200 draws of the profile's calibrations, log-normal within their intervals: one factor for
// all steps of a kernel, which share its error, and one for all hand-offs. Always the same draws:
// two plans are compared within the same one. Input error: a kernel that the device cannot run.
llvm::Expected<Uncertainty> uncertainty_of(const Variant& variant, const DeviceProfile& profile);

}  // namespace codl::compiler
