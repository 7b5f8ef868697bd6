// A schedule in virtual time on a device profile: three lanes, hand-offs.
#pragma once

#include "compiler/device/device_profile.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

struct SimulatedStep {
  double start_us = 0;
  double end_us = 0;
};

struct Simulation {
  double total_us = 0;
  double busy_us[3] = {};  // by lane
  std::vector<SimulatedStep> steps;
};

// A step starts when its lane is free and everything it waits for is done; a wait on another lane
// costs one hand-off (exchange.sync_us). Durations are the steps' predicted_us.
Simulation simulate(const Schedule& schedule, const DeviceProfile& profile);

}  // namespace codl::compiler
