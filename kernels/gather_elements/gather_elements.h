// GatherElements computes y[i, j, k] = data[i, indices[i, j, k], k] for axis 1.
//
//   data     Plain, any dtype, rank 1 to 8
//   indices  Plain, i64, data's rank; but for the axis no dim larger than data's
//   y        Plain, of data's dtype and indices' dims
//
// A negative index counts from the end; one outside is clamped into the dim when the step runs.
// y must not overlap an input. No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void gather_elements_ref(const KernelArgs& args);

}  // namespace codl::kernels
