#include "compiler/simulate/simulate.h"

#include "compiler/simulate/host_calls.h"

namespace codl::compiler {

Timeline simulate(const Schedule& schedule, const DeviceProfile& profile) {
  std::vector<PlannedStep> steps;
  for (const Step& step : schedule.steps) {
    PlannedStep& planned = steps.emplace_back();
    planned.step.lane = static_cast<uint8_t>(step.lane);
    planned.step.alone_us = step.predicted_us;
    for (StepId wait : step.waits) planned.step.waits.push_back({wait});
    planned.is_copy = step.lane == Lane::Transfer;
    planned.is_download = step.kind == StepKind::Download;
    planned.call_us = step.call_us;
  }
  return run_lanes(with_host_calls(std::move(steps), schedule.gate, profile));
}

}  // namespace codl::compiler
