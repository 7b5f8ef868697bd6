#include "compiler/schedule/step_order.h"

#include <algorithm>

namespace codl::compiler {

StepOrder::StepOrder(const Schedule& schedule)
    : done_(schedule.steps.size()), lane_(schedule.steps.size()) {
  Done after_latest[kLaneCount];  // by lane: what is done after the lane's latest step
  for (StepId step = 0; step < schedule.steps.size(); ++step) {
    const auto lane = static_cast<uint8_t>(schedule.steps[step].lane);
    lane_[step] = lane;
    Done& done = done_[step];
    done = after_latest[lane];
    for (StepId wait : schedule.steps[step].waits) {
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
