// Slice computes y[i...] = x[start + i * step ...], count elements along each axis.
//
//   x, y  Plain, one dtype (GPU kernel: f32), the same rank, 0 to 8; y.dims are the counts
//
// start_i and start_i + (count_i - 1) * step_i lie in x.dims[i]; steps are not zero. y must not
// overlap x, unless it is a run of it where it is (run_in_input()). No parts. Nothing past the end
// is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "schema/in_place.h"

namespace codl::kernels {

void slice_ref(const KernelArgs& args);
void slice_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
