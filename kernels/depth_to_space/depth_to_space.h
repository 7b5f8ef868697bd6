// DepthToSpace: SKELETON.
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

void depth_to_space_ref(const KernelArgs& args);
void depth_to_space_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
