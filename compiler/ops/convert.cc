#include "compiler/ops/shape_rules.h"

namespace codl::compiler::convert {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  ir::TensorType output = node.input(0);
  output.layout = Layout::Plain;
  return output;
}

// Cuts along Height only: the channels of a plain value are far apart, so one processor's half of a
// pixel's channels would share its cache lines with the other's.
llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  if (node.output().dtype != DType::F32) return {};
  return split_rules(node.output(), true, false);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Convert,
    .onnx_types = "",
    .infer = infer,
    .splits = splits,
    .input_range = same_range,
    .bounds = same_bounds,
};

}  // namespace codl::compiler::convert
