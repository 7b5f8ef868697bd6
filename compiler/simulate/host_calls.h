// The host's part in a replay (runtime/src/executor.cc): calls that give the queues their steps, on
// the thread that the CPU lane computes with.
#pragma once

#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/simulate/timeline.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Bytes that `reader` reads of the part of its `operand` that `maker` made: rows that correspond to
// its own, and the halo of most windows.
double handed_bytes(const kernels::StepShape& maker, const kernels::StepShape& reader,
                    size_t operand);

// Steps on lanes with hand-offs as the profile knows them: where it has no HostCosts, sync_us
// before each step that waits; else by kind, calls included, with one step more that waits for the
// queues. `steps`: those of the variant, each waiting for what it waits for there.
std::vector<LaneStep> with_host_calls(const Variant& variant, std::vector<LaneStep> steps,
                                      const LatencyPredictor& predictor);

}  // namespace codl::compiler
