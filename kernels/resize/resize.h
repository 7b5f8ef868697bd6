// Resize: SKELETON.
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

void resize_ref(const KernelArgs& args);
void resize_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
