// Reshape gives the elements of x, in ONNX order, under other dims.
//
//   x, y  Plain, one dtype (f32, or any on the kernel of any dtype), any rank, the same number of
//         elements. y may be x itself, in the same
//         place; else it must not overlap it.
//
// No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

// A unit of work has so many elements.
inline constexpr int64_t kReshapeBlock = 4096;

constexpr int32_t reshape_task_count(int64_t elements) {
  return task_count_for(ceil_div(elements, kReshapeBlock), elements);
}

void reshape_ref(const KernelArgs& args);
void reshape_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
