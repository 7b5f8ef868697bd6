// ScatterNd sets y = data, then its slices at tuples of indices become updates.
//
//   data, y  Plain, any dtype, rank 1 to 8, the same dims
//   indices  Plain, i64, [i..., r]: tuples of r indices, 1 <= r <= data's rank
//   updates  Plain, of data's dtype, [i..., data.dims behind the first r]
//
// reduction  as in ScatterElements, f32, f64 and integers only.
//
// Updates are applied in ONNX order, so of several for one element the last replaces, and sums have
// one order. A negative index counts from the end; an update whose index is outside changes
// nothing. y must not overlap an input. No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void scatter_nd_ref(const KernelArgs& args);

}  // namespace codl::kernels
