// Cumulate computes the running sum (is_product: product) of the elements along `axis`.
//
//   x, y  Plain of rank >= 1, the same dims and dtype: f32, f64 or an integer, modulo 2^bits
//
// is_exclusive: an element is not in its own sum, the first is 0 (1). is_reverse: from the last
// element to the first. Floats are added up as they are, one element after the other.
//
// y must not overlap x. No parts; one task.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void cumulate_ref(const KernelArgs& args);

}  // namespace codl::kernels
