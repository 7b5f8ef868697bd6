#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

namespace codl::kernels {

void depthwise_conv2d_launch(const StepShape& step, ClLaunch* out_launch);

namespace depthwise_conv2d {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_conv_operands<DepthwiseConv2dParams>(step)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  if (x.dims[1] != y.dims[1]) return "as many output channels as input channels";
  if (w.dims[0] != y.dims[1] || w.dims[1] != 1) return "weights of one filter per channel";
  const bool has_bytes = step.kernel->has(Signature::Q8);
  const uint64_t weights =
      has_bytes ? depthwise_conv2d_packed_bytes(w.dims) : depthwise_conv2d_packed_elements(w.dims);
  if (const char* expected = check_packed_weights(w, weights)) return expected;
  if (step.kernel->processor == Processor::Gpu) return check_cl_lanes_tile(step);
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  if (has_bytes)
    out_needs->scratch_bytes =
        depthwise_byte_work(vertical_axis(params, w.dims), horizontal_axis(params, w.dims))
            .scratch_bytes;
  out_needs->task_count = depthwise_conv2d_work(w, y, step.part_dim, step.part).task_count;
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, depthwise_conv2d_launch};

}  // namespace depthwise_conv2d
}  // namespace codl::kernels
