// A finished plan in virtual time on a device profile: what codl-sim shows.
#pragma once

#include <vector>

#include "compiler/device/device_profile.h"
#include "schema/plan_generated.h"

namespace codl::compiler {

// What else happens on the device.
struct SimulatedLoad {
  double cpu_percent = 0;        // of the CPU lane's time that others take, 0 to 90
  double gpu_frame_percent = 0;  // of the GPU's time that drawing takes, 0 to 90
};

struct SimulatedPlanStep {
  double start_us = 0;
  double end_us = 0;
};

struct SimulatedPlan {
  double total_us = 0;
  double busy_us[3] = {};                // by plan::Lane
  double overlap_us = 0;                 // CPU and GPU both busy
  std::vector<SimulatedPlanStep> steps;  // as in the plan
};

// Steps run one after the other on their lane, each when what it waits for is done; a wait on
// another lane costs exchange.sync_us. A kernel takes what the profile predicts for it alone, and
// is slower by the profile's percentage for as long as the other processor computes too. Input
// error: the profile has no model of a kernel of the variant.
//
// `counts_hand_offs` false leaves out sync_us: the time of kernels and copies, as the CoDL paper
// counts it (event times, without waiting); true: wall time.
llvm::Expected<SimulatedPlan> simulate_plan(const plan::VariantDef& variant,
                                            const DeviceProfile& profile, const SimulatedLoad& load,
                                            bool counts_hand_offs);

// Chrome trace JSON as codl-bench --trace writes it.
std::string chrome_trace(const plan::VariantDef& variant, const SimulatedPlan& simulated);

}  // namespace codl::compiler
