#include "kernels/conv_nd/conv_nd.h"
#include "schema/plan_layout.h"

namespace codl::kernels::conv_nd {
namespace {

const char* check_axis(const ConvNdAxis& axis) {
  if (axis.stride < 1 || axis.stride > kMaxDim) return "stride of 1 to 2^24";
  if (axis.dilation < 1 || axis.dilation > kMaxDim) return "dilation of 1 to 2^24";
  if (axis.pad_begin < -kMaxDim || axis.pad_begin > kMaxDim) return "padding of at most 2^24";
  return nullptr;
}

const char* check(const StepShape& step, StepNeeds*) {
  const auto& params = step.params_as<ConvNdParams>();
  const uint32_t operand_count = params.has_bias != 0 ? 4 : 3;
  if (const char* expected = check_operands(step, operand_count, operand_count)) return expected;
  const DType dtype = step.output().dtype;
  if (dtype != DType::F32 && dtype != DType::I32) return "f32 or i32";
  for (uint32_t i = 0; i < operand_count; ++i)
    if (step.operands[i].dtype != dtype || step.operands[i].layout != Layout::Plain)
      return "plain operands of one dtype";
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  if (x.rank < 3 || x.rank > 2 + kConvNdAxes || w.rank != x.rank || y.rank != x.rank)
    return "operands of one rank, 3 to 5";
  const int64_t groups = params.groups;
  if (groups < 1 || x.dims[1] % groups != 0 || y.dims[1] % groups != 0)
    return "groups that divide the input and output channels";
  const int32_t outer = params.is_transposed != 0 ? x.dims[1] : y.dims[1];
  const int32_t inner = params.is_transposed != 0 ? y.dims[1] : x.dims[1];
  if (w.dims[0] != outer || w.dims[1] * groups != inner) return "weights for the channels";
  if (x.dims[0] != y.dims[0]) return "input and output of one batch";
  if (params.has_bias != 0) {
    const OperandShape& bias = step.operands[2];
    if (bias.rank != 1 || bias.dims[0] != y.dims[1]) return "a bias of the output channels";
  }
  const ConvNdAxes axes = conv_nd_axes(params, x, w, y);
  for (const ConvNdAxis& axis : axes.axis)
    if (const char* expected = check_axis(axis)) return expected;
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::conv_nd
