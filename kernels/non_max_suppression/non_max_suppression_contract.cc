#include "kernels/common/contract/move_elements.h"
#include "kernels/non_max_suppression/non_max_suppression.h"

namespace codl::kernels::non_max_suppression {
namespace {

bool is_one(const OperandShape& shape, DType dtype) {
  return shape.dtype == dtype && element_count(shape) == 1;
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_plain_operands(step, 6, 6)) return expected;
  const OperandShape& boxes = step.operands[0];
  const OperandShape& scores = step.operands[1];
  const OperandShape& y = step.output();
  if (boxes.dtype != DType::F32 || boxes.rank != 3 || boxes.dims[2] != 4)
    return "boxes of f32[b, n, 4]";
  if (scores.dtype != DType::F32 || scores.rank != 3 || scores.dims[0] != boxes.dims[0] ||
      scores.dims[2] != boxes.dims[1])
    return "scores of f32[b, c, n]";
  if (!is_one(step.operands[2], DType::I64)) return "max_per_class of one i64";
  if (!is_one(step.operands[3], DType::F32) || !is_one(step.operands[4], DType::F32))
    return "thresholds of one f32";
  if (y.dtype != DType::I64 || y.rank != 2 || y.dims[0] != element_count(scores) || y.dims[1] != 3)
    return "an output of i64[b * c * n, 3]";
  out_needs->scratch_bytes = static_cast<uint64_t>(boxes.dims[1]) * sizeof(int32_t);
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::non_max_suppression
