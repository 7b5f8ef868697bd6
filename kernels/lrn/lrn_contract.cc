#include "kernels/lrn/lrn.h"
#include "schema/plan_layout.h"

namespace codl::kernels::lrn {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 2, check_cl_lanes_tile)) return expected;
  const auto& params = step.params_as<LrnParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (number_dtype(step, x) != DType::F32 || x.dtype != y.dtype) return "operands of f32";
  if (x.layout != y.layout || x.layout == Layout::Image2d) return "input and output of one layout";
  if (x.rank != 4 || !same_dims(x, y)) return "input and output of the same dims, rank 4";
  if (params.size < 1 || params.size > kMaxDim) return "1 to 2^24 channels in a sum";
  if (!holds_rows(x, rows_of_part(step.part_dim, step.part, y)))
    return "input rows of the part inside the operand";
  if (step.kernel->is_reference()) return nullptr;
  out_needs->task_count = row_work(step.part_dim, step.part, y).task_count;
  out_needs->scratch_bytes = static_cast<uint64_t>(lrn_scratch_floats(params, y)) * sizeof(float);
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, lrn_launch};

}  // namespace codl::kernels::lrn
