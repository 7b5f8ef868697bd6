#include "kernels/common/contract/move_elements.h"
#include "kernels/gather_nd/gather_nd.h"

namespace codl::kernels::gather_nd {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 3, 3)) return expected;
  const int32_t batch_dims = step.params_as<GatherNdParams>().batch_dims;
  const OperandShape& data = step.operands[0];
  const OperandShape& indices = step.operands[1];
  const OperandShape& y = step.output();
  if (data.dtype != y.dtype) return "data and output of one dtype";
  if (indices.dtype != DType::I64) return "indices of dtype i64";
  if (batch_dims < 0 || batch_dims >= data.rank || batch_dims >= indices.rank)
    return "batch_dims below the ranks of data and indices";
  for (int32_t i = 0; i < batch_dims; ++i)
    if (data.dims[i] != indices.dims[i]) return "data and indices of the same batch dims";
  const int32_t tuple = indices.dims[indices.rank - 1];
  if (tuple > data.rank - batch_dims) return "tuples no longer than the data's rank";
  if (y.rank != indices.rank - 1 + data.rank - batch_dims - tuple) return "the output's rank";
  for (int32_t i = 0; i < y.rank; ++i) {
    const int32_t behind = i - (indices.rank - 1);
    const int32_t dim = behind < 0 ? indices.dims[i] : data.dims[batch_dims + tuple + behind];
    if (y.dims[i] != dim) return "the indices' dims, then the data's behind the tuple";
  }
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::gather_nd
