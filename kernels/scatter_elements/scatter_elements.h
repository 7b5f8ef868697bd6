// ScatterElements sets y = data, then y[i, indices[i, j, k], k] = updates[i, j, k] for axis 1.
//
//   data, y  Plain, any dtype, rank 1 to 8, the same dims
//   indices  Plain, i64, data's rank; but for the axis no dim larger than data's
//   updates  Plain, of data's dtype and indices' dims
//
// reduction  None: updates replace. Add, Mul, Min, Max (f32, f64 and integers): they are combined
//            with what is there.
//
// Updates are applied in ONNX order, so of several for one element the last replaces, and sums have
// one order. A negative index counts from the end; an update whose index is outside changes
// nothing. y must not overlap an input. No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void scatter_elements_ref(const KernelArgs& args);

}  // namespace codl::kernels
