// A finished plan as steps on lanes, each as long as a device profile predicts.
#pragma once

#include <vector>

#include "compiler/simulate/timeline.h"
#include "llvm/Support/Error.h"
#include "schema/plan_fields.h"

namespace codl::compiler {

// Million bytes of what the variant's steps have packed.
double weight_mbytes(const plan::VariantDef& variant);

// By step of the plan, in its order; where the profile says what the host's calls take, with steps
// for these between (host_calls.h). Input error: the profile has no model of a kernel of the
// variant.
llvm::Expected<std::vector<LaneStep>> lane_steps_of(const plan::VariantDef& variant,
                                                    const DeviceProfile& profile);

}  // namespace codl::compiler
