#include "kernels/common/contract/move_elements.h"
#include "kernels/gather/gather.h"

namespace codl::kernels::gather {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 3, 3)) return expected;
  const int32_t axis = step.params_as<GatherParams>().axis;
  const OperandShape& data = step.operands[0];
  const OperandShape& indices = step.operands[1];
  const OperandShape& y = step.output();
  if (data.dtype != y.dtype) return "data and output of one dtype";
  if (indices.dtype != DType::I64) return "indices of dtype i64";
  if (axis < 0 || axis >= data.rank) return "an axis of the data";
  if (y.rank != data.rank - 1 + indices.rank) return "the output's rank";
  for (int32_t i = 0; i < y.rank; ++i) {
    const int32_t behind = i - indices.rank + 1;
    const int32_t dim = i < axis                  ? data.dims[i]
                        : i < axis + indices.rank ? indices.dims[i - axis]
                                                  : data.dims[behind];
    if (y.dims[i] != dim) return "the data's dims with the indices' in place of the axis";
  }
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::gather
