#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::non_max_suppression {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 5)) return error;
  if (llvm::Error error = expect_operand(node, 0, 3)) return error;
  if (llvm::Error error = expect_operand(node, 1, 3)) return error;
  if (llvm::Error error = expect_typed(node, 2, DType::I64)) return error;
  if (llvm::Error error = expect_operand(node, 3, -1)) return error;
  if (llvm::Error error = expect_operand(node, 4, -1)) return error;
  for (uint32_t i = 2; i < 5; ++i)
    if (node.input(i).element_count() != 1)
      return input_error(where, "expected operand {0} of one element, found {1}", i,
                         ir::to_string(node.input(i)));
  const ir::Dims& boxes = node.input(0).dims;
  const ir::Dims& scores = node.input(1).dims;
  if (boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2])
    return input_error(where, "expected boxes [b, n, 4] and scores [b, c, n], found {0} and {1}",
                       ir::to_string(node.input(0)), ir::to_string(node.input(1)));
  return checked_type(where, DType::I64, {node.input(1).element_count(), 3});
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::NonMaxSuppression,
    .onnx_types = "NonMaxSuppression",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
};

}  // namespace codl::compiler::non_max_suppression
