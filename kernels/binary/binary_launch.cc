#include "kernels/binary/binary.h"
#include "kernels/common/launch/cl_axes.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_BinaryBuffer(A, G, N) \
  G(Runs, runs) G(RunOperand, a) G(RunOperand, b) G(RunOperand, y) G(Activation, activation)
#define CODL_ARGS_BinaryImage(A, G, N) \
  G(Texels, texels) G(PartImage, a) G(PartImage, b) G(PartImage, y) G(Activation, activation)
#define CODL_ARGS_BinaryBroadcast(A, G, N) \
  A(int, item_count) A(int, pieces) G(AxisPair, last) N(8, AxisPair, axis)   \
  G(Activation, activation)
// clang-format on
CODL_CL_ARGS(BinaryBuffer);
CODL_CL_ARGS(BinaryImage);
CODL_CL_ARGS(BinaryBroadcast);

// A_CASE and B_CASE of the kernels are numbers of BinaryOperand.
static_assert(static_cast<int32_t>(BinaryOperand::Same) == 0 &&
              static_cast<int32_t>(BinaryOperand::Scalar) == 1 &&
              static_cast<int32_t>(BinaryOperand::PerChannel) == 2 &&
              static_cast<int32_t>(BinaryOperand::OnePixel) == 3);

// Batches of an operand that is not laid out like y follow each other after so many elements or
// rows.
int32_t batch_distance(const OperandShape& operand, const OperandShape& y) {
  if (binary_operand_of(operand, y) != BinaryOperand::OnePixel || operand.dims[0] == 1) return 0;
  return y.layout == Layout::Nhwc ? cl_strides(operand).batch : 1;
}

PartImageArgs image_input(const StepShape& step, const OperandShape& operand) {
  const OperandShape& y = step.output();
  if (binary_operand_of(operand, y) == BinaryOperand::Same) return part_image(step, operand);
  return {.first_row = 0, .rows_held = batch_distance(operand, y), .texels = 0, .first_texel = 0};
}

RunOperandArgs buffer_input(const StepShape& step, const OperandShape& operand) {
  const OperandShape& y = step.output();
  if (binary_operand_of(operand, y) == BinaryOperand::Same) return run_operand(step, operand);
  return {.offset = y.layout == Layout::Nhwc ? cl_channels(step).begin : 0,
          .batch_stride = batch_distance(operand, y),
          .pixel_stride = 0};
}

void launch_broadcast(const StepShape& step, ClLaunch* out) {
  const OperandShape& y = step.output();
  LoopAxes axes;
  for (int32_t i = 0; i < y.rank; ++i)
    axes.append(y.dims[i], broadcast_stride(step.operands[0], y, i),
                broadcast_stride(step.operands[1], y, i));
  const ClLines lines = set_pieces(step, axes, out);
  BinaryBroadcastArgs args = {.item_count = lines.item_count,
                              .pieces = lines.pieces,
                              .last = lines.last,
                              .axis = {},
                              .activation = activation_args(step.params_as<BinaryParams>())};
  set_axes(lines.around, args.axis);
  out->add(args);
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
  if (step.kernel->algorithm == Algorithm::Broadcast) return launch_broadcast(step, out_launch);
  out_launch->define("A_CASE", static_cast<int32_t>(a_case));
  out_launch->define("B_CASE", static_cast<int32_t>(b_case));
  if (y.layout == Layout::Image2d) {
    out_launch->add(BinaryImageArgs{.texels = set_texels(step, out_launch),
                                    .a = image_input(step, a),
                                    .b = image_input(step, b),
                                    .y = part_image(step, y),
                                    .activation = activation_args(params)});
    return;
  }
  const auto differs_by_channel = [](BinaryOperand operand_case) {
    return operand_case == BinaryOperand::PerChannel || operand_case == BinaryOperand::OnePixel;
  };
  const bool may_join = !differs_by_channel(a_case) && !differs_by_channel(b_case);
  out_launch->add(BinaryBufferArgs{.runs = set_runs(step, cl_runs(step, may_join), out_launch),
                                   .a = buffer_input(step, a),
                                   .b = buffer_input(step, b),
                                   .y = run_operand(step, y),
                                   .activation = activation_args(params)});
}

}  // namespace codl::kernels
