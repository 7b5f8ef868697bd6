// BatchMatMul: SKELETON.
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

void batch_matmul_ref(const KernelArgs& args);
void batch_matmul_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
