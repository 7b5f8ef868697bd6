// Times of steps that were measured in plans on the device itself; they correct the profile's
// predictions.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kernels/common/contract/contract.h"

namespace codl::compiler {

// A step is known by its kernel, its parameters and the whole maps that it is of, so that all parts
// of a node, and nodes that are alike, teach each other. A part that was not measured is between
// those that were, by predicted time; where none of such a node was, it is as the kernel's other
// steps, or the processor's. What is predicted to take longer never takes less for it: of parts
// that contradict this the mean is kept, of those that are added first to last. Values stored as
// halves and as floats are of different nodes.
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

  // `predicted_us` without what was learned; `measured_us` beside the same other work as that.
  // Steps below kMinUs are left out: of them clocks and calls are measured.
  void add(const kernels::StepShape& step, double predicted_us, double measured_us);

  // `predicted_us`: without what was learned.
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
  // One that was measured itself is open by so much: no run takes what the one before took.
  // Assumed.
  static constexpr double kMinOpen = 0.1;

 private:
  struct Sums {
    double predicted_us = 0;
    double measured_us = 0;
    bool empty() const { return predicted_us == 0; }
    double factor() const { return empty() ? 1 : measured_us / predicted_us; }
  };
  // Parts that were measured, of nodes that are alike, whose predictions lie in [low, high]: more
  // than one where the longer of them took less.
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
