// Expand repeats x along dims that are 1 in it, or that it has not.
//
//   x, y  Plain, one dtype; the dims of x, aligned at the last, are 1 or those of y
//
// y must not overlap x. No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void expand_ref(const KernelArgs& args);

}  // namespace codl::kernels
