// Gather takes slices of data along an axis, in the order of indices.
//
//   data     Plain, any dtype, rank 1 to 8
//   indices  Plain, i64, any rank
//   y        Plain, of data's dtype; data.dims with dim `axis` replaced by indices.dims
//
// A negative index counts from the end; one outside is clamped into the dim when the step runs.
// y must not overlap an input. No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void gather_ref(const KernelArgs& args);

}  // namespace codl::kernels
