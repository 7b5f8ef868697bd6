#include "kernels/common/activation/activation.h"
#include "kernels/normalize/normalize.h"

namespace codl::kernels::normalize {
namespace {

bool broadcasts(const OperandShape& operand, const OperandShape& x) {
  return operand.dtype == DType::F32 && operand.layout == Layout::Plain &&
         check_broadcast(operand, x) == nullptr;
}

// Returns whether all pixels of a channel use the same element.
bool is_even(const OperandShape& operand, const OperandShape& x) {
  return broadcast_stride(operand, x, 2) == 0 && broadcast_stride(operand, x, 3) == 0;
}

// Checks the further demands of the kernel on texels.
const char* check_image(const StepShape& step) {
  const OperandShape& x = step.operands[0];
  if (step.params_as<NormalizeParams>().axes_mask != kNormalizePixelAxes)
    return "means over the rows and columns of each channel for a kernel on texels";
  for (uint32_t i = 1; i + 1 < step.operand_count; ++i)
    if (!is_even(step.operands[i], x))
      return "scale and bias that are one for all pixels of a channel for a kernel on texels";
  return nullptr;
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  const auto& params = step.params_as<NormalizeParams>();
  const uint32_t inputs = 1 + (params.has_scale != 0 ? 1u : 0u) + (params.has_bias != 0 ? 1u : 0u);
  if (const char* expected = check_operands(step, inputs + 1, inputs + 1)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (number_dtype(step, x) != DType::F32 || x.dtype != y.dtype) return "operands of f32";
  const bool is_image = step.kernel->layout == Layout::Image2d;
  if (!is_image && x.layout != Layout::Plain && x.layout != Layout::Nhwc)
    return "plain or Nhwc operands";
  if (x.layout != y.layout) return "input and output of one layout";
  if (!same_dims(x, y)) return "input and output of the same dims";
  if (has_pixels(x) && (!holds_all_rows(x) || !holds_all_rows(y))) return "all rows in memory";
  if (params.axes_mask <= 0 || params.axes_mask >> x.rank != 0) return "a mask of the input's axes";
  if (!is_activation(params.activation)) return "an activation of Unary";
  for (uint32_t i = 1; i < inputs; ++i)
    if (!broadcasts(step.operands[i], x)) return "plain scale and bias that broadcast to the input";
  if (step.part_dim != SplitDim::None && (!has_pixels(x) || (params.axes_mask >> 1 & 1) != 0))
    return "channels of pixels, each with means of its own, for a part of them";
  if (is_image) return check_image(step);
  const NormalizeWork work = normalize_work(step);
  if (step.kernel->processor == Processor::Gpu && (work.kept.count > 3 || work.reduced.count > 3))
    return "at most 3 groups of axes on a GPU";
  // The reference kernel is one task.
  if (!step.kernel->is_reference()) {
    out_needs->task_count = work.task_count;
    out_needs->phase_count = work.line_blocks > 0 ? 2 : 1;
    out_needs->shared_bytes = normalize_shared_bytes(work);
  }
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, normalize_launch};

}  // namespace codl::kernels::normalize
