#include "kernels/softmax/softmax.h"

namespace codl::kernels::softmax {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const int32_t axis = step.params_as<SoftmaxParams>().axis;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (axis < 0 || axis >= y.rank) return "an axis of the output";
  if (y.layout == Layout::Image2d) return "plain or Nhwc operands";
  if (x.layout != y.layout) return "input and output of one layout";
  if (!same_dims(x, y)) return "input and output of the same dims";
  if (has_pixels(y) && (x.row_begin != y.row_begin || x.row_end != y.row_end))
    return "input and output that hold the same rows";
  if (has_pixels(y) && axis == 2 && !holds_all_rows(y)) return "all rows in memory for axis 2";
  const SoftmaxWork work = softmax_work(axis, y);
  out_needs->task_count = work.task_count;
  if (y.dtype == DType::F16)
    out_needs->scratch_bytes =
        2 * static_cast<uint64_t>(softmax_scratch_elements(work)) * sizeof(float);
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, softmax_launch};

}  // namespace codl::kernels::softmax
