#include "kernels/reduce/reduce.h"

#include <bit>
#include <cmath>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::reduce {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const auto params = node.params<ReduceParams>();
  const ir::TensorType& x = node.input(0);
  if (params.kind < kReduceSum || params.kind > kReduceArgMin)
    return input_error(node.node.name, "expected a Reduce member as kind, found {0}", params.kind);
  const bool takes_bool = params.kind == kReduceMax || params.kind == kReduceMin;
  if (!is_number(x.dtype) && !(takes_bool && x.dtype == DType::Bool))
    return unsupported_error(
        node.node.name, "expected an operand of f32, f64 or integers, found {0}", ir::to_string(x));
  if (params.axes_mask < 0 || params.axes_mask >> x.rank() != 0)
    return input_error(node.node.name, "expected axes in [0, {0}), found mask {1}", x.rank(),
                       params.axes_mask);
  const bool is_arg = kernels::is_arg_reduce(params.kind);
  if (is_arg && std::popcount(static_cast<uint32_t>(params.axes_mask)) != 1)
    return input_error(node.node.name, "expected one axis, found mask {0}", params.axes_mask);
  ir::TensorType y = x;
  y.layout = Layout::Plain;
  if (is_arg) y.dtype = DType::I64;
  for (int32_t i = 0; i < x.rank(); ++i)
    if ((params.axes_mask >> i & 1) != 0) y.dims[static_cast<size_t>(i)] = 1;
  return y;
}

// Reduced axes stay whole.
void channels(const ir::NodeView& node, ChannelLinks& links) {
  link_same_dims(node, links, static_cast<uint32_t>(node.params<ReduceParams>().axes_mask));
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const Interval x = operands[0];
  const auto count = static_cast<double>(node.input(0).element_count()) /
                     static_cast<double>(node.output().element_count());
  switch (node.params<ReduceParams>().kind) {
    case kReduceMean:
    case kReduceMax:
    case kReduceMin:
      return x;
    case kReduceSum:
      return x * Interval::of(count);
    case kReduceL1:
      return {0, count * x.magnitude()};
    case kReduceL2:
      return {0, std::sqrt(count) * x.magnitude()};
    case kReduceSumSquare:
      return {0, count * x.magnitude() * x.magnitude()};
    case kReduceLogSumExp:
      return {x.low, x.high + std::log(count)};
    default:
      return {};
  }
}

Growth growth(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  switch (node.params<ReduceParams>().kind) {
    case kReduceL2:
    case kReduceSumSquare:
    case kReduceProd:
      return Growth::Steep;
    case kReduceLogSum:
      return growth_of_quotient(operands[0]);
    default:
      return Growth::Linear;
  }
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Reduce,
    .onnx_types =
        "ArgMax ArgMin DynamicQuantizeLinear Einsum Hardmax LpNormalization "
        "NegativeLogLikelihoodLoss ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax "
        "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare SoftmaxCrossEntropyLoss "
        "com.microsoft.DynamicQuantizeLSTM com.microsoft.DynamicQuantizeMatMul",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
    .growth = growth,
    .channels = channels,
};

}  // namespace codl::compiler::reduce
