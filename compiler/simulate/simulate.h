// A schedule in virtual time on a device profile: three lanes, hand-offs.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timeline.h"

namespace codl::compiler {

// As codl-sim runs the plan (simulate_plan.h); steps take their predicted_us, contention and
// launches being in it.
Timeline simulate(const Schedule& schedule, const DeviceProfile& profile);

}  // namespace codl::compiler
