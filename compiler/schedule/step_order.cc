#include "compiler/schedule/step_order.h"

#include <array>

namespace codl::compiler {

StepOrder::StepOrder(const Schedule& schedule) : before_(schedule.steps.size()) {
  std::array<StepId, 3> latest_of_lane;  // by Lane
  latest_of_lane.fill(ir::kNoId);
  for (StepId step = 0; step < schedule.steps.size(); ++step) {
    std::vector<bool>& before = before_[step];
    before.resize(schedule.steps.size());
    const auto add_predecessor = [&](StepId predecessor) {
      // A wait for a step that is not earlier can never end; it proves no order.
      if (predecessor >= step || before[predecessor]) return;
      before[predecessor] = true;
      for (StepId i = 0; i < predecessor; ++i)
        if (before_[predecessor][i]) before[i] = true;
    };
    StepId& latest = latest_of_lane[static_cast<size_t>(schedule.steps[step].lane)];
    add_predecessor(latest);
    for (StepId wait : schedule.steps[step].waits) add_predecessor(wait);
    latest = step;
  }
}

}  // namespace codl::compiler
