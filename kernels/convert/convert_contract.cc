#include "kernels/convert/convert.h"

namespace codl::kernels::convert {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const bool reads_image = step.kernel->algorithm == Algorithm::FromImage;
  const bool takes_image = reads_image || step.kernel->layout == Layout::Image2d;
  if (x.layout == Layout::Image2d ? !takes_image : reads_image) return "the kernel's input layout";
  if (y.layout == Layout::Image2d && step.kernel->layout != Layout::Image2d)
    return "the kernel's output layout";
  if (step.kernel->is_reference()) {
    if (x.layout != Layout::Plain || y.layout != Layout::Plain) return "Plain operands";
    if (x.dtype != y.dtype) return "operands of one dtype";
  }
  if (!same_dims(x, y)) return "input and output of the same dims";
  if (y.rank != 4 && step.part_dim != SplitDim::None &&
      !(y.rank == 2 && step.part_dim == SplitDim::OutputChannel))
    return "rank 4, or columns of a matrix, for a part";
  if (y.rank == 4 && !holds_rows(x, rows_of_part(step.part_dim, step.part, y)))
    return "input rows of the part inside the operand";
  if (!step.kernel->is_reference())
    out_needs->task_count = convert_work(step.part_dim, step.part, y).task_count;
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, convert_launch};

}  // namespace codl::kernels::convert
