// Steps that compute each element of the output by itself: Unary and Binary.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

// A unit of work of a Plain step has so many elements, a multiple of every vector length.
inline constexpr int64_t kElementwiseBlock = 4096;

// A step falls into pieces: (batch, row) pairs, or blocks of a Plain output.
struct ElementwiseWork {
  Range rows;
  Range channels;
  int64_t units;
  int32_t task_count;
};

constexpr ElementwiseWork elementwise_work(SplitDim part_dim, Range part, const OperandShape& y) {
  ElementwiseWork work = {};
  if (!has_pixels(y)) {
    work.units = ceil_div(element_count(y), kElementwiseBlock);
    work.task_count = task_count_for(work.units, element_count(y));
    return work;
  }
  work.rows = rows_of_part(part_dim, part, y);
  work.channels = channels_of_part(part_dim, part, y);
  work.units = int64_t{y.dims[0]} * work.rows.count();
  work.task_count = task_count_for(work.units, work.units * y.dims[3] * work.channels.count());
  return work;
}

// Checks the demand that every kernel of such an operator has of its output.
constexpr const char* check_elementwise_output(const StepShape& step) {
  const OperandShape& y = step.output();
  if (y.layout == Layout::Image2d && step.kernel->layout != Layout::Image2d)
    return "no image for a buffer kernel";
  return !has_pixels(y) && step.part_dim != SplitDim::None ? "no part of a Plain output" : nullptr;
}

// Returns the tasks of a step that is checked. The reference kernel has one.
constexpr int32_t elementwise_task_count(const StepShape& step) {
  if (step.kernel->is_reference()) return 1;
  return elementwise_work(step.part_dim, step.part, step.output()).task_count;
}

}  // namespace codl::kernels
