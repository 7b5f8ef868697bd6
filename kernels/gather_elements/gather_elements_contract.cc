#include "kernels/common/contract/move_elements.h"
#include "kernels/gather_elements/gather_elements.h"

namespace codl::kernels::gather_elements {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 3, 3)) return expected;
  const int32_t axis = step.params_as<GatherElementsParams>().axis;
  const OperandShape& data = step.operands[0];
  const OperandShape& indices = step.operands[1];
  const OperandShape& y = step.output();
  if (data.dtype != y.dtype) return "data and output of one dtype";
  if (indices.dtype != DType::I64) return "indices of dtype i64";
  if (axis < 0 || axis >= data.rank) return "an axis of the data";
  if (!same_dims(indices, y)) return "indices and output of the same dims";
  if (data.rank != y.rank) return "data and indices of one rank";
  for (int32_t i = 0; i < y.rank; ++i)
    if (i != axis && y.dims[i] > data.dims[i]) return "indices inside the data but for the axis";
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::gather_elements
