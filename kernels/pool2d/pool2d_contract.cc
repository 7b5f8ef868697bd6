#include "kernels/pool2d/pool2d.h"
#include "schema/plan_layout.h"

namespace codl::kernels::pool2d {
namespace {

// One axis: parameters in range, and every window of the whole output has a tap inside the map.
// Bounds keep all positions of taps inside int32: |position| < 2^26.
const char* check_axis(int32_t out_extent, int32_t in_extent, int32_t kernel, int32_t stride,
                       int32_t dilation, int32_t pad_begin, int32_t pad_end) {
  if (kernel < 1 || kernel > kMaxDim) return "kernel of 1 to 2^24 taps";
  if (stride < 1 || stride > kMaxDim) return "stride of 1 to 2^24";
  if (dilation < 1 || dilation > kMaxDim) return "dilation of 1 to 2^24";
  const int64_t reach = int64_t{kernel - 1} * dilation;
  if (reach > kMaxDim) return "a window of at most 2^24 rows and columns";
  if (pad_begin < 0 || pad_end < 0 || pad_begin > reach || pad_end > kMaxDim)
    return "padding smaller than the window";
  if (pad_begin > 0 && dilation > in_extent) return "no padding where taps may straddle the map";
  if (int64_t{out_extent - 1} * stride - pad_begin >= in_extent)
    return "every window to begin before the end of the map";
  return nullptr;
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 2, check_cl_lanes_tile)) return expected;
  const auto& params = step.params_as<Pool2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (params.kind != kPool2dMax && params.kind != kPool2dAverage) return "a member of Pool2d";
  if (x.layout != y.layout) return "input and output of one layout";
  if (x.dims[0] != y.dims[0] || x.dims[1] > y.dims[1])
    return "input and output of one batch, and no channel less";
  if (pool2d_added_channels(x, y) != 0 &&
      (x.dims[1] % kChannelPanel != 0 || y.dims[1] % kChannelPanel != 0 ||
       step.part_dim == SplitDim::OutputChannel))
    return "whole panels, and no part of the channels, where some are added";
  if (const char* expected = check_axis(y.dims[2], x.dims[2], params.kernel_h, params.stride_h,
                                        params.dilation_h, params.pad_top, params.pad_bottom))
    return expected;
  if (const char* expected = check_axis(y.dims[3], x.dims[3], params.kernel_w, params.stride_w,
                                        params.dilation_w, params.pad_left, params.pad_right))
    return expected;
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  if (!holds_rows(x, pool2d_input_range(rows, params.stride_h, params.dilation_h, params.kernel_h,
                                        params.pad_top, x.dims[2])))
    return "input rows of the part inside the operand";
  out_needs->task_count = pool2d_work(params, step.part_dim, step.part, x, y).task_count;
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, pool2d_launch};

}  // namespace codl::kernels::pool2d
