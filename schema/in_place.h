// Finds steps whose output is a run of their input's bytes: if it lies there, nothing is moved.
#pragma once

#include "schema/step_shape.h"

namespace codl::kernels {

struct SliceAxes {
  int32_t start[kMaxRank];
  int32_t step[kMaxRank];
  int32_t count[kMaxRank];
};

constexpr SliceAxes slice_axes(const SliceParams& p) {
  return {{p.start_0, p.start_1, p.start_2, p.start_3, p.start_4, p.start_5, p.start_6, p.start_7},
          {p.step_0, p.step_1, p.step_2, p.step_3, p.step_4, p.step_5, p.step_6, p.step_7},
          {p.count_0, p.count_1, p.count_2, p.count_3, p.count_4, p.count_5, p.count_6, p.count_7}};
}

// Returns the bytes from the input's first to the output's first, if the output's bytes follow
// there as the output has them: for a Reshape, and for a Slice that takes all of every axis after
// the first that has several. Others get -1. The step need not have passed its contract, but has
// the operator's params.
inline int64_t run_in_input(const StepShape& step) {
  if (step.operand_count != 2) return -1;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.layout != Layout::Plain || y.layout != Layout::Plain || x.dtype != y.dtype) return -1;
  if (step.kernel->op == OpKind::Reshape) return element_count(x) == element_count(y) ? 0 : -1;
  if (step.kernel->op != OpKind::Slice || x.rank != y.rank) return -1;
  const SliceAxes axes = slice_axes(step.params_as<SliceParams>());
  int64_t first = 0;
  int64_t stride = 1;
  bool takes_all = true;  // whether the axes behind are taken whole
  for (int32_t i = x.rank - 1; i >= 0; --i) {
    if (axes.start[i] < 0 || axes.start[i] >= x.dims[i] || axes.count[i] != y.dims[i] ||
        axes.count[i] > x.dims[i] - axes.start[i])
      return -1;
    if (axes.count[i] > 1 && (axes.step[i] != 1 || !takes_all)) return -1;
    takes_all = takes_all && axes.count[i] == x.dims[i];
    first += axes.start[i] * stride;
    stride *= x.dims[i];
  }
  return first * element_bytes(x);
}

}  // namespace codl::kernels
