// The host's part in a replay (runtime/src/executor.cc): calls that give the queues their steps, on
// the thread that the CPU lane computes with.
#pragma once

#include <vector>

#include "compiler/simulate/timeline.h"
#include "kernels/common/contract.h"

namespace codl::compiler {

// A step of a plan, with what only the host pays for it.
struct PlannedStep {
  LaneStep step;         // waits: steps of the plan; hand-offs are not filled in
  bool is_copy = false;  // an upload or a download
  bool is_download = false;
  double call_us = 0;              // of a copy
  std::vector<double> wait_bytes;  // by step.waits: what this step reads of what that one made
  double given_bytes = 0;          // of the run's inputs, what it reads
};

// Bytes that `reader` reads of the part of its `operand` that `maker` made: rows that correspond to
// its own, and the halo of most windows.
double handed_bytes(const kernels::StepShape& maker, const kernels::StepShape& reader,
                    size_t operand);

// Steps on lanes with hand-offs as the profile knows them: where it has no HostCosts, sync_us
// before each step that waits; else by kind, calls included, with one step more that waits for the
// queues.
std::vector<LaneStep> with_host_calls(std::vector<PlannedStep> steps, Gate gate,
                                      const DeviceProfile& profile);

}  // namespace codl::compiler
