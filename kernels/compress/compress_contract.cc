#include "kernels/common/contract/move_elements.h"
#include "kernels/compress/compress.h"

namespace codl::kernels::compress {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 3, 3)) return expected;
  const int32_t axis = step.params_as<CompressParams>().axis;
  const OperandShape& x = step.operands[0];
  const OperandShape& condition = step.operands[1];
  const OperandShape& y = step.output();
  if (x.dtype != y.dtype) return "input and output of one dtype";
  if (condition.dtype != DType::Bool || condition.rank != 1) return "a condition of bool[k]";
  if (axis < 0 || axis >= x.rank) return "an axis of the input";
  if (x.rank != y.rank) return "input and output of one rank";
  for (int32_t i = 0; i < y.rank; ++i) {
    const bool is_cut = i == axis && condition.dims[0] < x.dims[i];
    if (y.dims[i] != (is_cut ? condition.dims[0] : x.dims[i]))
      return "an output of as many slices as may be taken";
  }
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::compress
