#include "kernels/concat/concat.h"

namespace codl::kernels::concat {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, kMaxOperands)) return expected;
  const int32_t axis = step.params_as<ConcatParams>().axis;
  const OperandShape& y = step.output();
  if (axis < 0 || axis >= y.rank) return "an axis of the output";
  const bool is_runs = step.kernel->algorithm == Algorithm::Runs;
  if (is_runs && has_pixels(y) && axis == 1) return "another axis than 1 for the kernel of runs";
  if (step.kernel->processor == Processor::Gpu && !is_runs && axis != 1)
    return "axis 1 for a GPU kernel of channels";
  if (step.kernel->layout == Layout::Image2d && step.operand_count - 1 > kConcatImageInputs)
    return "at most 8 images";
  if (y.layout == Layout::Image2d && step.kernel->layout != Layout::Image2d)
    return "no image for a buffer kernel";
  if (step.part_dim != SplitDim::None && (!has_pixels(y) || (axis != 1 && axis != 3)))
    return "no part but rows of an Nhwc or Image2d output joined along axis 1 or 3";
  const bool needs_all_rows = has_pixels(y) && (axis == 0 || axis == 2 || is_runs);
  if (needs_all_rows && !holds_all_rows(y)) return "all rows in memory for this axis and kernel";
  if (step.kernel->is_reference() && y.layout != Layout::Plain) return "Plain operands";
  int64_t joined = 0;
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i) {
    const OperandShape& x = step.operands[i];
    if (x.dtype != y.dtype) return "inputs of the output's dtype";
    if (x.layout != y.layout) return "inputs of the output's layout";
    if (x.rank != y.rank) return "inputs of the output's rank";
    for (int32_t k = 0; k < y.rank; ++k)
      if (k != axis && x.dims[k] != y.dims[k]) return "inputs like the output but for the axis";
    if (needs_all_rows && !holds_all_rows(x)) return "all rows in memory for this axis and kernel";
    if (has_pixels(y) && !needs_all_rows &&
        !holds_rows(x, rows_of_part(step.part_dim, step.part, y)))
      return "input rows of the part inside the operand";
    if ((x.pixel_stride != 0 || y.pixel_stride != 0) && axis != 1)
      return "axis 1 for windows of channels";
    if (step.kernel->processor == Processor::Gpu && x.pixel_stride != 0 && !is_window_of(x, y))
      return "no window but of the output for a GPU kernel";
    joined += x.dims[axis];
  }
  if (joined != y.dims[axis]) return "input dims along the axis that add up to the output's";
  // All that is in its place takes no time.
  if (!step.kernel->is_reference() && copied_channels(step) != 0)
    out_needs->task_count = concat_work(step.part_dim, step.part, y).task_count;
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, concat_launch};

}  // namespace codl::kernels::concat
