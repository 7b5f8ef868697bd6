// Compress gives the slices of x along an axis whose condition holds, in order, then zeros.
//
//   x, y       Plain, one dtype, rank 1 to 8; y has x.dims with dim `axis` = min(k, x.dims[axis])
//   condition  Plain, bool, [k]; what lies behind x.dims[axis] is not looked at
//
// y must not overlap an input. No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void compress_ref(const KernelArgs& args);

}  // namespace codl::kernels
