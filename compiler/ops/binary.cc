#include "kernels/binary/binary.h"

#include <algorithm>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::binary {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 2)) return error;
  const int32_t kind = node.params<BinaryParams>().kind;
  const llvm::StringRef name = member_name(OpKind::Binary, kind);
  if (name.empty()) return input_error(where, "expected a binary function, found {0}", kind);
  if (node.input(0).dtype != node.input(1).dtype)
    return input_error(where, "expected operands of one type, found {0} and {1}",
                       ir::to_string(node.input(0)), ir::to_string(node.input(1)));
  const DType dtype = kernels::binary_output_dtype(kind, node.input(0).dtype);
  if (dtype == DType::Any)
    return unsupported_error(where, "expected operands that {0} is computed of, found {1}", name,
                             ir::to_string(node.input(0)));

  CODL_ASSIGN_OR_RETURN(dims, broadcast_dims(node, {0, 1}));
  return checked_type(where, dtype, dims);
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<BinaryParams>();
  const Interval a = operands[0], b = operands[1];
  const auto result = [&]() -> Interval {
    switch (params.kind) {
      case kBinaryAdd:
        return a + b;
      case kBinarySub:
        return a - b;
      case kBinaryMul:
        if (node.node.inputs[0] == node.node.inputs[1]) return {0, a.magnitude() * a.magnitude()};
        return a * b;
      case kBinaryDiv:
        return a / b;
      case kBinaryPow:
        // A square is what networks take most.
        return b == Interval::of(2) ? Interval{0, a.magnitude() * a.magnitude()} : Interval{};
      case kBinaryMin:
        return {std::min(a.low, b.low), std::min(a.high, b.high)};
      case kBinaryMax:
        return {std::max(a.low, b.low), std::max(a.high, b.high)};
      case kBinaryMod:
      case kBinaryFmod:
        return Interval::within(b.magnitude());
      case kBinaryPRelu:
        return a.with(a * b);
      default:
        return {};
    }
  };
  return activated(result(), params);
}

Growth growth(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  switch (node.params<BinaryParams>().kind) {
    case kBinaryMul:
      if (node.node.inputs[0] == node.node.inputs[1]) return Growth::Steep;
      [[fallthrough]];
    case kBinaryPRelu:
      return growth_of_product(operands[0], operands[1]);
    case kBinaryDiv:
      return growth_of_quotient(operands[1]);
    case kBinaryPow:
      return Growth::Steep;
    default:
      return Growth::Linear;
  }
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Binary,
    .onnx_types =
        "Add And Attention BatchNormalization BitShift BitwiseAnd BitwiseOr BitwiseXor "
        "CausalConvWithState Clip ConvInteger DequantizeLinear Det Div DynamicQuantizeLinear "
        "Equal Gemm Greater GreaterOrEqual Hardmax Less LessOrEqual LinearAttention "
        "LpNormalization MatMulInteger Max Mean Min Mod Mul NegativeLogLikelihoodLoss OneHot "
        "Or PRelu Pow QLinearConv QLinearMatMul QuantizeLinear RotaryEmbedding STFT "
        "SoftmaxCrossEntropyLoss Sub Sum SwiGLU Xor com.microsoft.Attention "
        "com.microsoft.BiasAdd com.microsoft.BiasGelu com.microsoft.BiasSoftmax "
        "com.microsoft.BiasSplitGelu com.microsoft.DequantizeLinear "
        "com.microsoft.DynamicQuantizeLSTM com.microsoft.DynamicQuantizeMatMul "
        "com.microsoft.EmbedLayerNormalization com.microsoft.FastGelu com.microsoft.FusedConv "
        "com.microsoft.FusedGemm com.microsoft.FusedMatMul com.microsoft.GatherBlockQuantized "
        "com.microsoft.GroupQueryAttention com.microsoft.MatMulIntegerToFloat "
        "com.microsoft.MatMulNBits com.microsoft.MultiHeadAttention "
        "com.microsoft.NhwcFusedConv com.microsoft.QGemm com.microsoft.QLinearAdd "
        "com.microsoft.QLinearAveragePool com.microsoft.QLinearConcat "
        "com.microsoft.QLinearConv com.microsoft.QLinearGlobalAveragePool "
        "com.microsoft.QLinearLeakyRelu com.microsoft.QLinearMul com.microsoft.QLinearSigmoid "
        "com.microsoft.QLinearSoftmax com.microsoft.QLinearWhere com.microsoft.QuantizeLinear "
        "com.microsoft.RotaryEmbedding com.microsoft.SkipGroupNorm "
        "com.microsoft.SkipLayerNormalization com.microsoft.SkipSimplifiedLayerNormalization "
        "com.microsoft.TransposeMatMul",
    .infer = infer,
    .splits = elementwise_splits,
    .input_range = same_range,
    .computes_in_nhwc = has_f32_kernels,
    .follows_layout = true,
    .bounds = bounds,
    .growth = growth,
    .channels = link_all_dims,
};

}  // namespace codl::compiler::binary
