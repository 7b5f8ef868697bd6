#include "kernels/common/launch/cl_axes.h"
#include "kernels/slice/slice.h"

namespace codl::kernels {

void slice_launch(const StepShape& step, ClLaunch* out_launch) {
  const OperandShape& y = step.output();
  const SliceAxes slice = slice_axes(step.params_as<SliceParams>());
  int64_t strides[kMaxRank] = {};
  strides_of(step.operands[0], strides);
  LoopAxes axes;
  int64_t first = 0;
  for (int32_t i = 0; i < y.rank; ++i) {
    first += slice.start[i] * strides[i];
    axes.append(slice.count[i], slice.step[i] * strides[i], 0);
  }
  launch_copy_axes(step, axes, first, out_launch);
}

}  // namespace codl::kernels
