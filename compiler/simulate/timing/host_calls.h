// Simulates the host's part of a replay (runtime/src/executor.cc): the calls that give the queues
// their steps, on the thread that also computes for the CPU queue.
#pragma once

#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/simulate/timing/timeline.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Returns the bytes that `reader` reads of the part of its `operand` that `maker` made: rows that
// correspond to its own, and the halo of most windows.
double bytes_read_of(const kernels::StepShape& maker, const kernels::StepShape& reader,
                     size_t operand);

// Serves as AheadWindow's us_of(): returns the predicted time of a GPU step of the variant, as its
// file has it.
inline float ahead_us(const Variant& variant, uint32_t step) {
  const Step& of = variant.steps[step];
  return of.queue == Queue::Gpu ? static_cast<float>(of.predicted_us) : -1.0F;
}

// Adds the profile's synchronisations to steps on queues. Without HostCosts it adds sync_us before
// each step that waits; else it adds costs by kind, calls included, and a last step that waits for
// the queues. If the variant bounds what is enqueued ahead, its predicted_us are filled, and the
// host calls for each GPU step when there is room for it. `steps` are those of the variant, each
// waiting for what it waits for there.
std::vector<QueueStep> with_host_calls(const Variant& variant, std::vector<QueueStep> steps,
                                       const LatencyPredictor& predictor);

}  // namespace codl::compiler
