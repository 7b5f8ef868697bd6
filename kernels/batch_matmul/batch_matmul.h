// BatchMatMul: y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]; the dims in front
// broadcast like numpy's. is_a_transposed, is_b_transposed: a[..., k, m], b[..., n, k].
//
//   a, b, y   Plain of rank >= 2 and of one dtype: f32, or an integer, which wraps
//
// Neither is packed: both may be computed. No parts. The order of additions into an element is k's
// in every row but the reference, which adds in double. y must not overlap a or b.
//
// Features: mmacs (million multiply-adds), mbytes (million bytes read and written), steps (1).
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/loop_axes.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

// Extents, and strides in elements, of one product and of the batch. Of operands that have passed
// the contract.
struct MatMulWork {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  int64_t a_row = 1;     // from a's m to m + 1
  int64_t a_depth = 1;   // from a's k to k + 1
  int64_t b_depth = 1;   // from b's k to k + 1
  int64_t b_column = 1;  // from b's n to n + 1
  LoopAxes batch;        // inputs: a, b
  int64_t batch_count = 1;
};

// Dim i of y's batch in an operand aligned from the right.
constexpr int32_t batch_dim(const OperandShape& operand, const OperandShape& y, int32_t i) {
  const int32_t own = i - (y.rank - operand.rank);
  return own < 0 ? 1 : operand.dims[own];
}

constexpr MatMulWork matmul_work(const BatchMatMulParams& params, const OperandShape& a,
                                 const OperandShape& b, const OperandShape& y) {
  MatMulWork work;
  const int64_t a_last = a.dims[a.rank - 1];
  const int64_t b_last = b.dims[b.rank - 1];
  work.m = y.dims[y.rank - 2];
  work.n = y.dims[y.rank - 1];
  work.k = params.is_a_transposed != 0 ? a.dims[a.rank - 2] : a_last;
  (params.is_a_transposed != 0 ? work.a_depth : work.a_row) = a_last;
  (params.is_b_transposed != 0 ? work.b_column : work.b_depth) = b_last;
  int64_t steps[kMaxRank][2] = {};
  int64_t stride_a = work.m * work.k;
  int64_t stride_b = work.n * work.k;
  for (int32_t i = y.rank - 3; i >= 0; --i) {
    const int32_t dim_a = batch_dim(a, y, i);
    const int32_t dim_b = batch_dim(b, y, i);
    steps[i][0] = dim_a == 1 ? 0 : stride_a;
    steps[i][1] = dim_b == 1 ? 0 : stride_b;
    stride_a *= dim_a;
    stride_b *= dim_b;
  }
  for (int32_t i = 0; i + 2 < y.rank; ++i) {
    work.batch.append(y.dims[i], steps[i][0], steps[i][1]);
    work.batch_count *= y.dims[i];
  }
  return work;
}

void batch_matmul_ref(const KernelArgs& args);
void batch_matmul_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
