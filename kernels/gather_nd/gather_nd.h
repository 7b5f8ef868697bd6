// GatherNd takes slices of data at tuples of indices.
//
//   data     Plain, any dtype, [batch..., d...]: batch_dims dims in front
//   indices  Plain, i64, [batch..., i..., r]: tuples of r indices, 1 <= r <= dims of d
//   y        Plain, of data's dtype, [batch..., i..., d behind its first r]
//
// A negative index counts from the end; one outside is clamped into the dim when the step runs.
// y must not overlap an input. No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void gather_nd_ref(const KernelArgs& args);

}  // namespace codl::kernels
