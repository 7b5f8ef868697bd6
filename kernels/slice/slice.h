// Slice: y[i...] = x[start + i * step ...], count elements along each axis.
//
//   x, y  Plain, one dtype (GPU kernel: f32), the same rank, 0 to 8; y.dims are the counts
//
// start_i and start_i + (count_i - 1) * step_i lie in x.dims[i]; steps are not zero. y must not
// overlap x. No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

struct SliceAxes {
  int32_t start[kMaxRank];
  int32_t step[kMaxRank];
  int32_t count[kMaxRank];
};

constexpr SliceAxes slice_axes(const SliceParams& p) {
  return {{p.start_0, p.start_1, p.start_2, p.start_3, p.start_4, p.start_5, p.start_6, p.start_7},
          {p.step_0, p.step_1, p.step_2, p.step_3, p.step_4, p.step_5, p.step_6, p.step_7},
          {p.count_0, p.count_1, p.count_2, p.count_3, p.count_4, p.count_5, p.count_6, p.count_7}};
}

void slice_ref(const KernelArgs& args);
void slice_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
