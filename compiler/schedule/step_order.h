// Which steps are certainly done before which: lane order and waits, closed transitively.
#pragma once

#include <array>
#include <vector>

#include "schema/plan_model.h"

namespace codl::compiler {

// happens_before(a, b): a is complete when b starts, in every execution. CPU and GPU lanes run
// their own steps in order; Transfer steps too, so of each lane the latest step done says it all.
class StepOrder {
 public:
  explicit StepOrder(const Variant& variant);
  bool happens_before(StepId a, StepId b) const { return a < done_[b].count[lane_[a]]; }

  // By lane: the steps of the lane with a smaller id are done.
  struct Done {
    std::array<StepId, kLaneCount> count{};
  };
  // When the step starts.
  const Done& done_before(StepId step) const { return done_[step]; }

 private:
  std::vector<Done> done_;     // when the step starts
  std::vector<uint8_t> lane_;  // of each step
};

}  // namespace codl::compiler
