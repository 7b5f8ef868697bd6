#include "kernels/resize/resize.h"

namespace codl::kernels::resize {
namespace {

bool is_member(const ResizeParams& params) {
  if (params.kind < kResizeNearest || params.kind > kResizeCubic) return false;
  if (params.coordinates < kResizeHalfPixel || params.coordinates > kResizeTfHalfPixelForNn)
    return false;
  return params.nearest >= kResizeRoundPreferFloor && params.nearest <= kResizeFloorOrCeil;
}

// Checks the optional operands: f32, one dim.
const char* check_vector(const OperandShape& operand, int32_t count) {
  if (operand.dtype != DType::F32 || operand.layout != Layout::Plain)
    return "scales and roi plain and of f32";
  return operand.rank == 1 && operand.dims[0] == count ? nullptr
                                                       : "a scale and a roi for every axis";
}

// Checks the f32 kernels: maps whose input holds the rows of the part.
const char* check_map(const StepShape& step, StepNeeds* out_needs) {
  const auto& params = step.params_as<ResizeParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  ResizeMap map;
  if (x.layout != y.layout || !has_pixels(x)) return "input and output of one layout";
  if (!resize_is_map(params, x.dims, y.dims, &map))
    return "rows and columns of a map, resized by constant scales";
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  if (!holds_rows(x, resize_input_range(params, map, rows, x.dims[2])))
    return "input rows of the part inside the operand";
  out_needs->task_count = row_work(step.part_dim, step.part, y).task_count;
  return nullptr;
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  const auto& params = step.params_as<ResizeParams>();
  const bool has_scales = params.has_scales != 0;
  const uint32_t count = 2 + (has_scales ? 1 : 0) + (params.has_roi != 0 ? 1 : 0);
  if (const char* expected = check_operands(step, count, count, check_cl_lanes_tile))
    return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (!is_member(params)) return "members of Resize";
  if (x.dtype != y.dtype) return "input and output of one dtype";
  if (params.kind != kResizeNearest && number_dtype(step, x) != DType::F32)
    return "operands of f32";
  if (x.rank != y.rank || x.rank < 1) return "input and output of one rank";
  if (has_scales)
    if (const char* expected = check_vector(step.operands[1], x.rank)) return expected;
  if (params.has_roi != 0)
    if (const char* expected = check_vector(step.operands[has_scales ? 2 : 1], 2 * x.rank))
      return expected;
  if (params.coordinates == kResizeTfCropAndResize && params.has_roi == 0)
    return "a roi for tf_crop_and_resize";
  if (!step.kernel->is_reference()) return check_map(step, out_needs);
  return x.layout == Layout::Plain ? nullptr : "a plain input";
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, resize_launch};

}  // namespace codl::kernels::resize
