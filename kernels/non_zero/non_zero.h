// NonZero gives the indices of the elements that are not zero.
//
//   x  Plain, any dtype, any rank
//   y  Plain, i64, [r, n]: r the rank of x, 1 for a scalar; n the elements of x
//
// Column k of y has the index of the k-th element that is not zero, in ONNX order; the columns
// behind the last are 0. NaN is not zero, -0 is. y must not overlap x. No parts. Nothing past the
// end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void non_zero_ref(const KernelArgs& args);

}  // namespace codl::kernels
