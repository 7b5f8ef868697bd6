// Reduce: y = the reduction `kind` of x over the axes whose bit is set in axes_mask; those are 1 in
// y. An empty mask reduces each element alone.
//
//   x   Plain, f32 or an integer; bool for Max and Min
//   y   Plain, x's dims with 1 on the reduced axes; x's dtype, i64 for ArgMax and ArgMin
//
// Integers wrap; Mean is the exact sum, divided towards zero, and the kinds with a root or
// logarithm round towards zero and saturate. Max and Min give NaN if there is one. ArgMax and
// ArgMin: one axis; a NaN is taken before every number. No parts. y must not overlap x.
//
// One task. f32 is added up in double.
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/loop_axes.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

constexpr bool is_arg_reduce(int32_t kind) {
  return kind == kReduceArgMax || kind == kReduceArgMin;
}
constexpr bool is_extreme(int32_t kind) { return kind == kReduceMax || kind == kReduceMin; }
constexpr bool is_sum_of_squares(int32_t kind) {
  return kind == kReduceL2 || kind == kReduceSumSquare;
}
constexpr bool is_sum_or_extreme(int32_t kind) {
  return is_extreme(kind) || is_sum_of_squares(kind) || kind == kReduceSum || kind == kReduceMean ||
         kind == kReduceL1;
}

// The axes of x longer than 1, neighbours of a kind joined. One of them, the lanes, lies along the
// memory: the last of the kept ones, or of the reduced ones. A line is all of the lanes.
struct ReduceWork {
  LoopAxes kept;     // but for the lanes
  LoopAxes reduced;  // likewise
  bool has_kept_lanes = false;
  int64_t lanes = 1;
  int64_t output_count = 1;
  int64_t element_count = 1;  // of one output
  int64_t line_count = 1;     // of one output, or of a line of them
};
ReduceWork reduce_work(int32_t axes_mask, const OperandShape& x);

// LoopAxes::run_at(), once for all kernels.
LoopAxes::Run reduce_run_at(const LoopAxes& axes, int64_t begin, int64_t end);

void reduce_ref(const KernelArgs& args);

}  // namespace codl::kernels
