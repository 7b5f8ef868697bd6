#include "compiler/simulate/simulate.h"

#include <algorithm>

namespace codl::compiler {

Simulation simulate(const Schedule& schedule, const DeviceProfile& profile) {
  Simulation result;
  double lane_free_us[3] = {};
  for (const Step& step : schedule.steps) {
    const auto lane = static_cast<size_t>(step.lane);
    double start_us = lane_free_us[lane];
    for (StepId wait : step.waits)
      start_us = std::max(start_us, result.steps[wait].end_us + profile.exchange.sync_us.value);
    const double end_us = start_us + step.predicted_us;
    lane_free_us[lane] = end_us;
    result.busy_us[lane] += step.predicted_us;
    result.total_us = std::max(result.total_us, end_us);
    result.steps.push_back({start_us, end_us});
  }
  return result;
}

}  // namespace codl::compiler
