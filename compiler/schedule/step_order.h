// Tells which steps are certainly done before which: the transitive closure of queue order and
// waits.
#pragma once

#include <array>
#include <vector>

#include "schema/plan_model.h"

namespace codl::compiler {

// happens_before(a, b) says that a is complete when b starts, in every execution. Each queue runs
// its steps in order, so it is enough to know the latest step of each queue that is done.
class StepOrder {
 public:
  explicit StepOrder(const Variant& variant);
  bool happens_before(StepId a, StepId b) const { return a < done_[b].count[queue_[a]]; }

  // Says, by queue, that the steps of the queue with a smaller id are done.
  struct Done {
    std::array<StepId, kQueueCount> count{};
  };
  // Returns the steps that are done when the step starts.
  const Done& done_before(StepId step) const { return done_[step]; }

 private:
  std::vector<Done> done_;      // when the step starts
  std::vector<uint8_t> queue_;  // queue of each step
};

}  // namespace codl::compiler
