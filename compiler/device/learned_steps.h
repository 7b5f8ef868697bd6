// Holds times of steps that were measured in plans on the device itself; they correct the profile's
// predictions.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "schema/step_shape.h"

namespace codl::compiler {

// A step's key is its kernel, its parameters and the whole maps that it belongs to, so that all
// parts of a node, and equal nodes, teach each other. A part that was not measured lies between the
// measured ones, by predicted time. If none of its node was measured, the step takes the correction
// of its kernel's other steps, else of its processor's. The corrected times keep the order of the
// predicted ones: where measurements contradict it, their mean is kept. Values stored as halves and
// as floats belong to different nodes.
class LearnedSteps {
 public:
  // `factor` multiplies a prediction. `open` says how much of the profile's uncertainty is left:
  // from 1, all of it, to 0, nothing.
  struct Correction {
    double factor = 1;
    double open = 1;
  };

  bool empty() const { return step_count_ == 0; }
  int32_t step_count() const { return step_count_; }

  // Adds a measurement. `predicted_us` is the prediction without what was learned; `measured_us`
  // was measured beside the same other work. Steps below kMinUs are left out, because their times
  // are mostly clocks and calls.
  void add(const kernels::StepShape& step, double predicted_us, double measured_us);

  // `predicted_us` is the prediction without what was learned.
  Correction correction(const kernels::StepShape& step, double predicted_us) const;

  bool has(Processor processor) const {
    return !processors_[static_cast<size_t>(processor)].empty();
  }
  // Returns measured over predicted time, summed over the processor's steps; 1 if none was
  // measured.
  double factor_of(Processor processor) const {
    return processors_[static_cast<size_t>(processor)].factor();
  }

  static constexpr double kMinUs = 2;
  // A step that was measured itself stays this open, because no two runs take the same time. This
  // is assumed.
  static constexpr double kMinOpen = 0.1;

 private:
  struct Sums {
    double predicted_us = 0;
    double measured_us = 0;
    bool empty() const { return predicted_us == 0; }
    double factor() const { return empty() ? 1 : measured_us / predicted_us; }
  };
  // Holds measured parts of equal nodes, whose predictions lie in [low, high]. It has several parts
  // where the longer of them took less.
  struct Parts {
    double low_us = 0;
    double high_us = 0;
    Sums sums;
  };

  std::unordered_map<uint64_t, std::vector<Parts>> nodes_;  // in rising order
  Sums kernels_[kKernelCount];                              // indexed by id - 1
  Sums processors_[2];
  int32_t step_count_ = 0;
};

}  // namespace codl::compiler
