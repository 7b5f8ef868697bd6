#include "kernels/unary/unary.h"

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::unary {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const int32_t kind = node.params<UnaryParams>().kind;
  const llvm::StringRef name = member_name(OpKind::Unary, kind);
  if (name.empty())
    return input_error(node.node.name, "expected a unary function, found {0}", kind);
  ir::TensorType output = node.input(0);
  output.dtype = kernels::unary_output_dtype(kind, output.dtype);
  output.layout = Layout::Plain;
  if (output.dtype == DType::Any)
    return unsupported_error(node.node.name,
                             "expected an operand that {0} is computed of, found {1}", name,
                             ir::to_string(node.input(0)));
  return output;
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<UnaryParams>();
  return activated(operands[0], params.kind, params.alpha, params.beta);
}

Growth growth(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  switch (node.params<UnaryParams>().kind) {
    case kUnaryReciprocal:
    case kUnaryLog:  // also far from zero where its operand is next to it
      return growth_of_quotient(operands[0]);
    case kUnaryExp:
    case kUnarySinh:
    case kUnaryCosh:
    case kUnaryTan:
    case kUnaryAtanh:
      return Growth::Steep;
    default:
      return Growth::Linear;
  }
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Unary,
    .onnx_types =
        "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip ConvInteger Cos Cosh "
        "Dropout DynamicQuantizeLinear Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity "
        "IsInf IsNaN LeakyRelu Log MatMulInteger Mish Neg NegativeLogLikelihoodLoss Not "
        "QLinearConv QLinearMatMul QuantizeLinear Reciprocal Relu Round Selu Shrink Sigmoid "
        "Sign Sin Sinh SoftmaxCrossEntropyLoss Softplus Softsign Sqrt Swish Tan Tanh "
        "ThresholdedRelu com.microsoft.BiasGelu com.microsoft.BiasSplitGelu "
        "com.microsoft.DynamicQuantizeLSTM com.microsoft.DynamicQuantizeMatMul "
        "com.microsoft.FastGelu com.microsoft.FusedConv com.microsoft.FusedGemm "
        "com.microsoft.Gelu com.microsoft.GroupNorm com.microsoft.MatMulIntegerToFloat "
        "com.microsoft.NhwcFusedConv com.microsoft.QGemm com.microsoft.QLinearAdd "
        "com.microsoft.QLinearAveragePool com.microsoft.QLinearConcat "
        "com.microsoft.QLinearConv com.microsoft.QLinearGlobalAveragePool "
        "com.microsoft.QLinearLeakyRelu com.microsoft.QLinearMul com.microsoft.QLinearSigmoid "
        "com.microsoft.QLinearSoftmax com.microsoft.QLinearWhere com.microsoft.QuantizeLinear "
        "com.microsoft.QuickGelu com.microsoft.SkipGroupNorm",
    .infer = infer,
    .splits = elementwise_splits,
    .input_range = same_range,
    .computes_in_nhwc = has_f32_kernels,
    .follows_layout = true,
    .bounds = bounds,
    .growth = growth,
    .channels = link_all_dims,
};

}  // namespace codl::compiler::unary
