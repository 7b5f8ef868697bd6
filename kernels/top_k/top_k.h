// TopK computes y = the places along `axis` of the k largest (is_smallest: smallest) elements of x,
// best first; of equals the lower place comes first. A NaN is larger than every number.
//
//   x   Plain, f32, f64 or an integer
//   y   Plain, i64, x's dims with k on the axis; 1 <= k <= the axis' extent
//
// No parts. One task. y must not overlap x.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

void top_k_ref(const KernelArgs& args);

}  // namespace codl::kernels
