#include "compiler/schedule/step_order.h"

#include <algorithm>

namespace codl::compiler {

StepOrder::StepOrder(const Variant& variant)
    : done_(variant.steps.size()), lane_(variant.steps.size()) {
  Done after_latest[kLaneCount];  // by lane: what is done after the lane's latest step
  for (StepId step = 0; step < variant.steps.size(); ++step) {
    const auto lane = static_cast<uint8_t>(variant.steps[step].lane);
    lane_[step] = lane;
    Done& done = done_[step];
    done = after_latest[lane];
    for (StepId wait : variant.steps[step].waits) {
      // A wait for a step that is not earlier can never end; it proves no order.
      if (wait >= step) continue;
      for (size_t i = 0; i < done.count.size(); ++i)
        done.count[i] = std::max(done.count[i], done_[wait].count[i]);
      done.count[lane_[wait]] = std::max(done.count[lane_[wait]], wait + 1);
    }
    after_latest[lane] = done;
    after_latest[lane].count[lane] = step + 1;
  }
}

}  // namespace codl::compiler
