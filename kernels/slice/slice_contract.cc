#include "kernels/common/contract/move_elements.h"
#include "kernels/slice/slice.h"

namespace codl::kernels::slice {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 2, 2)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.dtype != y.dtype) return "operands of one dtype";
  if (x.rank != y.rank) return "input and output of one rank";
  const SliceAxes axes = slice_axes(step.params_as<SliceParams>());
  for (int32_t i = 0; i < y.rank; ++i) {
    if (axes.count[i] != y.dims[i]) return "counts that are the output's dims";
    if (axes.step[i] == 0) return "steps other than 0";
    const int64_t last = axes.start[i] + (int64_t{axes.count[i]} - 1) * axes.step[i];
    if (axes.start[i] < 0 || axes.start[i] >= x.dims[i] || last < 0 || last >= x.dims[i])
      return "the first and the last element inside the input";
  }
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, slice_launch};

}  // namespace codl::kernels::slice
