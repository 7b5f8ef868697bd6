// Describes a contiguous output as a nest of loops, with the step each loop makes in up to two
// inputs.
#pragma once

#include "schema/step_shape.h"

namespace codl::kernels {

struct LoopAxes {
  // Describes elements that follow each other on the last axis: in input i at offsets[i] + k * the
  // last step.
  struct Run {
    int64_t offsets[2] = {};
    int64_t count = 0;
  };

  int32_t count = 0;
  int64_t extents[kMaxRank] = {};
  int64_t steps[kMaxRank][2] = {};

  // Adds an axis inside the others. It becomes one with the axis before it if both inputs step
  // through the two as through one, so that runs are as long as can be.
  constexpr void append(int64_t extent, int64_t step_0, int64_t step_1) {
    if (extent == 1) return;
    if (count > 0 && steps[count - 1][0] == step_0 * extent &&
        steps[count - 1][1] == step_1 * extent) {
      extents[count - 1] *= extent;
    } else {
      extents[count++] = extent;
    }
    steps[count - 1][0] = step_0;
    steps[count - 1][1] = step_1;
  }

  constexpr int64_t last_step(int32_t input) const {
    return count > 0 ? steps[count - 1][input] : 1;
  }

  // Returns the run from output element `begin` to the end of the last axis, or to element `end`.
  constexpr Run run_at(int64_t begin, int64_t end) const {
    Run run;
    run.count = end - begin;
    int64_t rest = begin;
    for (int32_t i = count - 1; i >= 0; --i) {
      const int64_t index = rest % extents[i];
      if (i == count - 1 && extents[i] - index < run.count) run.count = extents[i] - index;
      run.offsets[0] += index * steps[i][0];
      run.offsets[1] += index * steps[i][1];
      rest /= extents[i];
    }
    return run;
  }
};

}  // namespace codl::kernels
