#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::where {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 3)) return error;
  if (llvm::Error error = expect_typed(node, 0, {DType::Bool})) return error;
  if (node.input(1).dtype != node.input(2).dtype)
    return input_error(node.node.name, "expected operands of one type, found {0} and {1}",
                       ir::to_string(node.input(1)), ir::to_string(node.input(2)));
  CODL_ASSIGN_OR_RETURN(dims, broadcast_dims(node, {0, 1, 2}));
  return checked_type(node.node.name, node.input(1).dtype, dims);
}

Interval bounds(const ir::NodeView&, llvm::ArrayRef<Interval> operands) {
  return operands[1].with(operands[2]);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Where,
    .onnx_types =
        "DFT NegativeLogLikelihoodLoss OneHot ReverseSequence SoftmaxCrossEntropyLoss Trilu "
        "Where com.microsoft.GroupQueryAttention com.microsoft.QLinearWhere",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
};

}  // namespace codl::compiler::where
