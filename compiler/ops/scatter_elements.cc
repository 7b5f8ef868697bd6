#include "compiler/ops/index_rules.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::scatter_elements {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 3)) return error;
  const ir::TensorType& data = node.input(0);
  const auto params = node.params<ScatterElementsParams>();
  if (llvm::Error error = expect_scatter_types(node, params.reduction)) return error;
  if (params.axis < 0 || params.axis >= data.rank())
    return input_error(where, "expected an axis in [0, {0}), found {1}", data.rank(), params.axis);
  if (llvm::Error error = expect_indices_inside(node, 0, 1, params.axis)) return error;
  if (node.input(1).dims != node.input(2).dims)
    return input_error(where, "expected indices and updates of the same dims, found {0} and {1}",
                       ir::to_string(node.input(1)), ir::to_string(node.input(2)));
  ir::TensorType output = data;
  output.layout = Layout::Plain;
  return output;
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  return scatter_bounds(node.params<ScatterElementsParams>().reduction, operands);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::ScatterElements,
    .onnx_types =
        "Col2Im MaxUnpool Scatter ScatterElements TensorScatter "
        "com.microsoft.GroupQueryAttention",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
};

}  // namespace codl::compiler::scatter_elements
