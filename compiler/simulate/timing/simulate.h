// A variant of a plan in virtual time, as long as a device profile predicts: of the compiler,
// before there is a file, and of codl-sim, from one.
#pragma once

#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/simulate/timing/timeline.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Million bytes of what the variant's steps have packed.
double weight_mbytes(const Variant& variant);

// Returns the variant's steps without the times of the host's calls and of synchronisations. Input
// error: a kernel that the profile's device cannot run, or its user does not want.
llvm::Expected<std::vector<QueueStep>> bare_steps_of(const Variant& variant,
                                                     const LatencyPredictor& predictor);

// Returns the variant's steps in its order; where the profile says what the host's calls take, with
// steps for these between (host_calls.h). Input error: the profile has no model of a kernel of the
// variant.
llvm::Expected<std::vector<QueueStep>> queue_steps_of(const Variant& variant,
                                                      const DeviceProfile& profile);

// Fills predicted_us of the variant, with nothing else on the device, and of its steps. Input error
// as of bare_steps_of(), and where that is longer than a plan can say.
llvm::Error predict(Variant& variant, const DeviceProfile& profile);

}  // namespace codl::compiler
