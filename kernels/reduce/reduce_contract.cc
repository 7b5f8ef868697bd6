#include "kernels/reduce/reduce.h"

namespace codl::kernels {

ReduceWork reduce_work(int32_t axes_mask, const OperandShape& x) {
  ReduceWork work;
  int64_t strides[kMaxRank] = {};
  strides_of(x, strides);
  for (int32_t i = 0; i < x.rank; ++i) {
    const bool is_reduced = (axes_mask >> i & 1) != 0;
    (is_reduced ? work.reduced : work.kept).append(x.dims[i], strides[i], 0);
    (is_reduced ? work.element_count : work.output_count) *= x.dims[i];
  }
  work.has_kept_lanes = work.kept.count > 0 && work.kept.last_step(0) == 1;
  LoopAxes& own = work.has_kept_lanes ? work.kept : work.reduced;
  if (own.count > 0) work.lanes = own.extents[--own.count];
  work.line_count = work.element_count;
  work.units = work.output_count;
  if (work.has_kept_lanes) {
    work.lane_blocks = ceil_div(work.lanes, kReduceBlock);
    work.units = work.output_count / work.lanes * work.lane_blocks;
  } else {
    work.line_count /= work.lanes;
  }
  work.task_count = task_count_for(work.units, element_count(x));
  return work;
}

LoopAxes::Run reduce_run_at(const LoopAxes& axes, int64_t begin, int64_t end) {
  return axes.run_at(begin, end);
}

}  // namespace codl::kernels

namespace codl::kernels::reduce {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const auto& params = step.params_as<ReduceParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const int32_t mask = params.axes_mask;
  if (params.kind < kReduceSum || params.kind > kReduceArgMin) return "a Reduce member as kind";
  if (x.layout != Layout::Plain || y.layout != Layout::Plain) return "plain operands";
  if (mask < 0 || mask >> x.rank != 0) return "a mask of the input's axes";
  if (y.rank != x.rank) return "an output of the input's rank";
  for (int32_t i = 0; i < x.rank; ++i)
    if (y.dims[i] != ((mask >> i & 1) != 0 ? 1 : x.dims[i])) return "reduced axes of 1";
  const bool is_order = params.kind == kReduceMax || params.kind == kReduceMin;
  if (!is_number(number_dtype(step, x)) && !(is_order && x.dtype == DType::Bool))
    return "an input of f32, f64 or integers, or of bool for Max and Min";
  if (!step.kernel->is_reference()) {
    if (!is_sum_or_extreme(params.kind)) return "a sum or an extreme for a kernel of f32";
    out_needs->task_count = reduce_work(mask, x).task_count;
    return nullptr;
  }
  if (!is_arg_reduce(params.kind))
    return y.dtype == x.dtype ? nullptr : "an output of the input's dtype";
  if (mask == 0 || (mask & (mask - 1)) != 0) return "one axis for ArgMax and ArgMin";
  return y.dtype == DType::I64 ? nullptr : "indices of i64";
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, reduce_launch};

}  // namespace codl::kernels::reduce
