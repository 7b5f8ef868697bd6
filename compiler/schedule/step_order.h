// Which steps are certainly done before which: lane order and waits, closed transitively.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"

namespace codl::compiler {

// happens_before(a, b): a is complete when b starts, in every execution. Bit matrix, O(steps^2)
// bits. CPU and GPU lanes run their own steps in order; Transfer steps too.
class StepOrder {
 public:
  explicit StepOrder(const Schedule& schedule);
  bool happens_before(StepId a, StepId b) const { return a != b && before_[b][a]; }

 private:
  std::vector<std::vector<bool>> before_;  // before_[b][a]
};

}  // namespace codl::compiler
