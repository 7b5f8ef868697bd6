#include "kernels/pad/pad.h"

namespace codl::kernels::pad {
namespace {

// Checks the further demands of the f32 kernels.
const char* check_pixels(const StepShape& step, const PadAxes& axes) {
  const auto& params = step.params_as<PadParams>();
  const OperandShape& x = step.operands[0];
  const Range rows = rows_of_part(step.part_dim, step.part, step.output());
  if (!holds_rows(x, pad_input_range(params.kind, axes.begin[2], rows, x.dims[2])))
    return "input rows of the part inside the operand";
  if (axes.begin[0] != 0 || axes.end[0] != 0) return "no pads of batches";
  if (axes.begin[1] == 0 && axes.end[1] == 0) return nullptr;
  if (step.kernel->processor != Processor::Cpu || params.kind != kPadConstant)
    return "pads of rows and columns";
  return step.part_dim == SplitDim::OutputChannel ? "no part of the channels where some are added"
                                                  : nullptr;
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 3)) return expected;
  const auto& params = step.params_as<PadParams>();
  if (params.kind < kPadConstant || params.kind > kPadWrap) return "a member of Pad";
  if (params.has_value != 0 && params.has_value != 1) return "has_value 0 or 1";
  if (step.operand_count != 2u + static_cast<uint32_t>(params.has_value))
    return "the operator's number of operands";
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.layout != y.layout) return "input and output of one layout";
  if (y.layout != Layout::Plain && y.layout != Layout::Nhwc) return "Plain or Nhwc operands";
  if (x.dtype != y.dtype) return "operands of one dtype";
  if (params.has_value == 1) {
    const OperandShape& value = step.operands[1];
    if (value.dtype != y.dtype || value.layout != Layout::Plain || element_count(value) != 1)
      return "a value of one element";
  }
  if (x.rank != y.rank) return "input and output of one rank";
  const PadAxes axes = pad_axes(params);
  for (int32_t i = 0; i < y.rank; ++i) {
    if (axes.begin[i] < 0 || axes.end[i] < 0) return "pads that are not negative";
    if (int64_t{axes.begin[i]} + x.dims[i] + axes.end[i] != y.dims[i])
      return "output dims that are the input's and the pads'";
  }
  if (y.layout == Layout::Plain) return nullptr;
  out_needs->task_count = row_work(step.part_dim, step.part, y).task_count;
  return check_pixels(step, axes);
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, pad_launch};

}  // namespace codl::kernels::pad
