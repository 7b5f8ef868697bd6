// Slice: SKELETON.
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

void slice_ref(const KernelArgs& args);
void slice_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
