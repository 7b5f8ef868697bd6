// Cast computes y = x in another dtype, element by element, for every pair of dtypes.
//
//   x, y  Plain, the same dims; y of dtype `to`
//
// Float to integer rounds towards zero and saturates; a NaN gives 0. Integer to integer is modulo
// 2^bits. To bool is x != 0. To a float takes the nearest, ties to even; what is too large becomes
// infinite. An integer of more than 53 bits goes to f16 and bf16 by way of the nearest f64.
//
// y must not overlap x. No parts; one task.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void cast_ref(const KernelArgs& args);

}  // namespace codl::kernels
