// Recurrent: SKELETON.
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

void recurrent_ref(const KernelArgs& args);

}  // namespace codl::kernels
