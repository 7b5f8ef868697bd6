#include "kernels/binary/binary.h"
#include "kernels/common/launch/cl_axes.h"

namespace codl::kernels {
namespace {

// A_CASE and B_CASE of the kernels are numbers of BinaryOperand.
static_assert(static_cast<int32_t>(BinaryOperand::Same) == 0 &&
              static_cast<int32_t>(BinaryOperand::Scalar) == 1 &&
              static_cast<int32_t>(BinaryOperand::PerChannel) == 2 &&
              static_cast<int32_t>(BinaryOperand::OnePixel) == 3);

void add_input(const StepShape& step, const OperandShape& operand, ClLaunch* out) {
  const OperandShape& y = step.output();
  const BinaryOperand operand_case = binary_operand_of(operand, y);
  if (operand_case != BinaryOperand::Same) {
    const bool is_nhwc = y.layout == Layout::Nhwc;
    const bool has_batches = operand_case == BinaryOperand::OnePixel && operand.dims[0] > 1;
    const int32_t batch_stride = is_nhwc ? cl_strides(operand).batch : 1;
    out->add_int(is_nhwc ? cl_channels(step).begin : 0);
    out->add_int(has_batches ? batch_stride : 0);
    out->add_int(0);  // no distance of pixels
    if (y.layout == Layout::Image2d) out->add_int(0);
  } else if (y.layout == Layout::Image2d) {
    add_image_rows(step, operand, out);
    add_pixel_texels(operand, out);
  } else {
    add_runs_operand(step, operand, out);
  }
}

void launch_broadcast(const StepShape& step, ClLaunch* out) {
  const OperandShape& y = step.output();
  LoopAxes axes;
  for (int32_t i = 0; i < y.rank; ++i)
    axes.append(y.dims[i], broadcast_stride(step.operands[0], y, i),
                broadcast_stride(step.operands[1], y, i));
  out->define("AXES", axes.count);
  set_line(step, element_count(y), out);
  add_axes(axes, 0, out);
  for (int32_t i = 0; i < kMaxRank; ++i)
    out->add_int(i < axes.count ? static_cast<int32_t>(axes.steps[i][1]) : 0);
}

}  // namespace

void binary_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<BinaryParams>();
  const OperandShape& a = step.operands[0];
  const OperandShape& b = step.operands[1];
  const OperandShape& y = step.output();
  const BinaryOperand a_case = binary_operand_of(a, y);
  const BinaryOperand b_case = binary_operand_of(b, y);
  out_launch->define("KIND", params.kind);
  out_launch->define("ACTIVATION", params.activation);
  if (step.kernel->algorithm == Algorithm::Broadcast) {
    launch_broadcast(step, out_launch);
    return add_activation(params, out_launch);
  }
  out_launch->define("A_CASE", static_cast<int32_t>(a_case));
  out_launch->define("B_CASE", static_cast<int32_t>(b_case));
  if (y.layout == Layout::Image2d) {
    set_texels(step, out_launch);
    add_input(step, a, out_launch);
    add_input(step, b, out_launch);
    add_image_rows(step, y, out_launch);
    add_pixel_texels(y, out_launch);
  } else {
    const auto differs_by_channel = [](BinaryOperand operand_case) {
      return operand_case == BinaryOperand::PerChannel || operand_case == BinaryOperand::OnePixel;
    };
    const bool may_join = !differs_by_channel(a_case) && !differs_by_channel(b_case);
    set_runs(step, cl_runs(step, may_join), out_launch);
    add_input(step, a, out_launch);
    add_input(step, b, out_launch);
    add_runs_operand(step, y, out_launch);
  }
  add_activation(params, out_launch);
}

}  // namespace codl::kernels
