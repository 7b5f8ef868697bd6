#include "kernels/common/contract/scatter_reduction.h"
#include "kernels/scatter_nd/scatter_nd.h"

namespace codl::kernels::scatter_nd {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 4, 4)) return expected;
  const OperandShape& data = step.operands[0];
  const OperandShape& indices = step.operands[1];
  const OperandShape& updates = step.operands[2];
  const OperandShape& y = step.output();
  if (data.dtype != y.dtype || updates.dtype != y.dtype)
    return "data, updates and output of one dtype";
  if (indices.dtype != DType::I64) return "indices of dtype i64";
  if (!can_reduce_scattered(y.dtype, step.params_as<ScatterNdParams>().reduction))
    return "a reduction of the dtype";
  if (!same_dims(data, y)) return "data and output of the same dims";
  if (indices.rank < 1 || y.rank < 1) return "data and indices of rank 1 or more";
  const int32_t tuple = indices.dims[indices.rank - 1];
  if (tuple > y.rank) return "tuples no longer than the data's rank";
  if (updates.rank != indices.rank - 1 + y.rank - tuple) return "the updates' rank";
  for (int32_t i = 0; i < updates.rank; ++i) {
    const int32_t behind = i - (indices.rank - 1);
    const int32_t dim = behind < 0 ? indices.dims[i] : y.dims[tuple + behind];
    if (updates.dims[i] != dim) return "the indices' dims, then the data's behind the tuple";
  }
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::scatter_nd
