#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::cast {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const int32_t to = node.params<CastParams>().to;
  if (to < 0 || to >= kDTypeEnd || !is_known_dtype(static_cast<uint8_t>(to)))
    return input_error(node.node.name, "expected the number of a dtype, found {0}", to);
  ir::TensorType output = node.input(0);
  output.dtype = static_cast<DType>(to);
  output.layout = Layout::Plain;
  return output;
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Cast,
    .onnx_types =
        "BitCast Cast CastLike ConvInteger DequantizeLinear DynamicQuantizeLinear "
        "MatMulInteger QLinearConv QLinearMatMul QuantizeLinear "
        "com.microsoft.DequantizeLinear com.microsoft.DynamicQuantizeLSTM "
        "com.microsoft.DynamicQuantizeMatMul com.microsoft.GatherBlockQuantized "
        "com.microsoft.MatMulIntegerToFloat com.microsoft.QGemm com.microsoft.QLinearAdd "
        "com.microsoft.QLinearAveragePool com.microsoft.QLinearConcat "
        "com.microsoft.QLinearConv com.microsoft.QLinearGlobalAveragePool "
        "com.microsoft.QLinearLeakyRelu com.microsoft.QLinearMul "
        "com.microsoft.QLinearSigmoid com.microsoft.QLinearSoftmax "
        "com.microsoft.QLinearWhere com.microsoft.QuantizeLinear",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = same_bounds,
    .channels = link_all_dims,
};

}  // namespace codl::compiler::cast
