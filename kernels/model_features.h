// What latency models weigh: the features of a step, brought to how the step is cut into
// pieces, and what follows from the cut for any operator.
#pragma once

#include "kernels/common/step_work.h"

namespace codl::kernels {

// The lane that a step runs in.
struct LaneFacts {
  int32_t thread_count = 1;  // of the CPU lane
  GpuFacts gpu;
  int32_t vector_lanes = 16;  // floats in a vector of the CPU kernels: 4, 8 or 16
  // A cache of the lane's processor keeps weights from one run to the next.
  bool has_warm_weights = false;
};

// Million bytes of packed weights that a part reads which no cache keeps from run to run: they come
// from memory. A step has the feature unless its lane has warm weights.
inline constexpr char kColdWeights[] = "cold_weight_mbytes";
// Of it and of what else such a step has: what it counts of its weights, once more.
inline constexpr char kColdPrefix[] = "cold_";

// Of a step that has passed check_step(). One without tile numbers is taken as codlc would give it
// some.
//
// All: kColdWeights.
// CPU: cpu_features.h.
// GPU: million elements written under the name of what is applied to each of them, a Unary's kind
// or an activation: melements_hard (HardSigmoid, HardSwish), melements_exp (an exponential),
// melements_tanh, melements_erf, melements_other (log, pow, sin ...); none for members of a few
// instructions. And those of kernels/gpu_features.h, or of cl_processor_features.h.
void model_features_of(const StepShape& step, const LaneFacts& lane, Features* out_features);

}  // namespace codl::kernels
