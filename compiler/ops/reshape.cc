#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// The dims are the output's own (ops.def): unlike other operators the node must have its output.
llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const ir::Dims& output = node.output().dims;
  if (node.input(0).element_count() != node.output().element_count())
    return input_error(where, "expected as many elements as {0}, found {1}",
                       ir::to_string(node.input(0)), ir::to_string(node.output()));
  return checked_type(where, node.input(0).dtype,
                      llvm::SmallVector<int64_t, 4>(output.begin(), output.end()));
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView&) { return {}; }

Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range) {
  return whole_extent(node.input(operand), dim);
}

}  // namespace

extern const OpSpec kReshapeSpec;
const OpSpec kReshapeSpec = {
    .kind = OpKind::Reshape,
    .onnx_types = "Flatten Reshape SpaceToDepth Squeeze Unsqueeze",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
};

}  // namespace codl::compiler
