#include "kernels/common/contract/scatter_reduction.h"
#include "kernels/scatter_elements/scatter_elements.h"

namespace codl::kernels::scatter_elements {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 4, 4)) return expected;
  const auto& params = step.params_as<ScatterElementsParams>();
  const OperandShape& data = step.operands[0];
  const OperandShape& indices = step.operands[1];
  const OperandShape& updates = step.operands[2];
  const OperandShape& y = step.output();
  if (data.dtype != y.dtype || updates.dtype != y.dtype)
    return "data, updates and output of one dtype";
  if (indices.dtype != DType::I64) return "indices of dtype i64";
  if (!can_reduce_scattered(y.dtype, params.reduction)) return "a reduction of the dtype";
  if (params.axis < 0 || params.axis >= y.rank) return "an axis of the output";
  if (!same_dims(data, y)) return "data and output of the same dims";
  if (!same_dims(indices, updates)) return "indices and updates of the same dims";
  if (indices.rank != y.rank) return "data and indices of one rank";
  for (int32_t i = 0; i < y.rank; ++i)
    if (i != params.axis && indices.dims[i] > y.dims[i])
      return "indices inside the data but for the axis";
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::scatter_elements
