// Compress: SKELETON.
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

void compress_ref(const KernelArgs& args);

}  // namespace codl::kernels
