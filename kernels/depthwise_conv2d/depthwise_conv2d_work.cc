#include "kernels/common/step_work.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  const int32_t multiple = step.row->processor == Processor::Cpu ? kChannelPanel : kChannelPad;
  const double channels = round_up(channels_of_part(step.part_dim, step.part, y).count(), multiple);
  const double pixels = static_cast<double>(y.dims[0]) *
                        rows_of_part(step.part_dim, step.part, y).count() * y.dims[3];
  out_features->add("mmacs", pixels * channels * w.dims[2] * w.dims[3] * 1e-6);
  // A part of channels reads those channels of x only.
  const double share =
      static_cast<double>(channels_of_part(step.part_dim, step.part, y).count()) / y.dims[1];
  const bool is_part = step.part_dim == SplitDim::OutputChannel;
  StepShape whole_channels = step;
  if (is_part) {
    whole_channels.part_dim = SplitDim::None;
    whole_channels.part = {};
  }
  out_features->add("mbytes", conv_activation_mbytes<DepthwiseConv2dParams>(whole_channels) *
                                  (is_part ? share : 1.0));
  out_features->add("mtaps", pixels * w.dims[2] * w.dims[3] * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kDepthwiseConv2dWork;
const OpWork kDepthwiseConv2dWork = {features};

}  // namespace codl::kernels
