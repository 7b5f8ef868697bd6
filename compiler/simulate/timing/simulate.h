// Runs a variant of a plan in virtual time, as a device profile predicts it. The compiler does so
// before there is a file, codl-sim with a file.
#pragma once

#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/simulate/timing/timeline.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Returns the million bytes of constants that the variant's steps read packed.
double weight_mbytes(const Variant& variant);

// Returns the variant's steps without the times of the host's calls and of synchronisations.
// Returns an Input error for a kernel that the profile's device cannot run, or its user does not
// want.
llvm::Expected<std::vector<QueueStep>> bare_steps_of(const Variant& variant,
                                                     const LatencyPredictor& predictor);

// Returns the variant's steps in its order; where the profile says what the host's calls take, with
// steps for these between (host_calls.h). Returns an Input error if the profile has no model of a
// kernel of the variant.
llvm::Expected<std::vector<QueueStep>> queue_steps_of(const Variant& variant,
                                                      const DeviceProfile& profile);

// Returns the spans of the variant's own steps, in its order, from a timeline of queue_steps_of().
std::vector<Timeline::Span> step_spans(const Variant& variant, llvm::ArrayRef<QueueStep> steps,
                                       const Timeline& timeline);

// Fills predicted_us of the variant, with nothing else on the device, and of its steps. Input error
// as of bare_steps_of(), and where that is longer than a plan can say.
llvm::Error predict(Variant& variant, const DeviceProfile& profile);

}  // namespace codl::compiler
