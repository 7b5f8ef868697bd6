#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  if (llvm::Error error = expect_operand(node, 0, -1)) return error;
  const int32_t kind = node.params<UnaryParams>().kind;
  if (member_name(OpKind::Unary, kind).empty())
    return input_error(node.node.name, "expected a unary function, found {0}", kind);
  ir::TensorType output = node.input(0);
  output.layout = Layout::Plain;
  return output;
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  const bool has_rows = node.output().rank() == 4;
  return split_rules(node.output(), has_rows, has_rows);
}

}  // namespace

extern const OpSpec kUnarySpec;
const OpSpec kUnarySpec = {
    .kind = OpKind::Unary,
    .onnx_types = "Relu LeakyRelu Clip Sigmoid Tanh Identity Dropout",
    .infer = infer,
    .work = elementwise_work,
    .splits = splits,
    .input_range = same_range,
    .computes_in_nhwc = always_in_nhwc,
};

}  // namespace codl::compiler
