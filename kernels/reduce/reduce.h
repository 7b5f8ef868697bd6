// Reduce: y = the reduction `kind` of x over the axes whose bit is set in axes_mask; those are 1 in
// y. An empty mask reduces each element alone.
//
//   x   Plain, f32 or an integer; bool for Max and Min
//   y   Plain, x's dims with 1 on the reduced axes; x's dtype, i64 for ArgMax and ArgMin
//
// f32 is added up in double. Integers wrap; Mean is the exact sum, divided towards zero, and the
// kinds with a root or logarithm round towards zero and saturate. Max and Min give NaN if there is
// one. ArgMax and ArgMin: one axis; a NaN is taken before every number. No parts. One task. y must
// not overlap x.
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

constexpr bool is_arg_reduce(int32_t kind) {
  return kind == kReduceArgMax || kind == kReduceArgMin;
}

void reduce_ref(const KernelArgs& args);

}  // namespace codl::kernels
