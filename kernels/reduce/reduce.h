// Reduce computes y = the reduction `kind` of x over the axes whose bit is set in axes_mask; those
// are 1 in y. An empty mask reduces each element alone.
//
//   x   Plain, f32, f64 or an integer; bool for Max and Min
//   y   Plain, x's dims with 1 on the reduced axes; x's dtype, i64 for ArgMax and ArgMin
//
// Integers wrap; Mean is the exact sum, divided towards zero, and the kinds with a root or
// logarithm round towards zero and saturate. Max and Min give NaN if there is one. ArgMax and
// ArgMin: one axis; a NaN is taken before every number. No parts. y must not overlap x.
//
// The plain loops are one task and add floats up in double. The kernels of f32 know sums and
// extremes (is_sum_or_extreme()) and add up floats, in many sums side by side.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/loop_axes.h"
#include "kernels/common/contract/tasks.h"

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

// The CPU kernel works on so many neighbouring outputs at once, and on so many sums side by side of
// one output.
inline constexpr int64_t kReduceBlock = 64;

// Lines up to this length are turned, so that vectors lie across a block of them.
inline constexpr int64_t kReduceShortLine = 16;

// Holds the axes of x longer than 1; neighbours of a kind are joined. One of them, the lanes, lies
// along the memory: it is the last of the kept ones, or of the reduced ones. A line is all of the
// lanes.
struct ReduceWork {
  LoopAxes kept;     // but for the lanes
  LoopAxes reduced;  // likewise
  bool has_kept_lanes = false;
  int64_t lanes = 1;
  int64_t output_count = 1;
  int64_t element_count = 1;  // elements of one output
  int64_t line_count = 1;     // lines of one output, or of a line of outputs
  int64_t lane_blocks = 1;    // blocks of kept lanes
  int64_t units = 1;          // the CPU kernel's: a block of kept lanes, or an output
  int32_t task_count = 1;
};
ReduceWork reduce_work(int32_t axes_mask, const OperandShape& x);

// Does LoopAxes::run_at(), once for all kernels.
LoopAxes::Run reduce_run_at(const LoopAxes& axes, int64_t begin, int64_t end);

// Adds `rows` rows of `width` elements, `step` apart, to as many results, or compares them. Whole
// vectors of results are read.
template <class T>
using AddReduceRows = void (*)(int32_t kind, const T* x, int64_t rows, int64_t step, int64_t width,
                               float* results);
// Runs the CPU kernel on floats or halves, given what one instruction set does with rows of them,
// and of results.
template <class T>
void reduce_blocks(const KernelArgs& args, AddReduceRows<T> add_rows,
                   AddReduceRows<float> join_rows);

// Says how many work-items share the elements of an output, and how many neighbouring outputs their
// group has. One work-item per output where there is little to share.
struct ReduceGroup {
  int32_t items = 1;
  int32_t outputs = 1;
};
constexpr ReduceGroup reduce_group(const ReduceWork& work) {
  constexpr int64_t kMinShared = 64;  // elements: a wave of Adreno
  if (work.element_count < kMinShared) return {};
  return work.has_kept_lanes ? ReduceGroup{16, 16} : ReduceGroup{64, 1};
}

void reduce_ref(const KernelArgs& args);
void reduce_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
