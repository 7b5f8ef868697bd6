#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::cumulate {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  ir::TensorType output = node.input(0);
  if (!is_number(output.dtype))
    return unsupported_error(node.node.name,
                             "expected an operand of f32, f64 or integers, found {0}",
                             ir::to_string(output));
  const int32_t axis = node.params<CumulateParams>().axis;
  if (axis < 0 || axis >= output.rank())
    return input_error(node.node.name, "expected an axis in [0, {0}), found {1}", output.rank(),
                       axis);
  output.layout = Layout::Plain;
  return output;
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<CumulateParams>();
  if (params.is_product != 0) return {};
  return operands[0].with(Interval::of(0)) *
         Interval::of(node.input(0).dims[static_cast<size_t>(params.axis)]);
}

Growth growth(const ir::NodeView& node, llvm::ArrayRef<Interval>) {
  return node.params<CumulateParams>().is_product != 0 ? Growth::Steep : Growth::Linear;
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Cumulate,
    .onnx_types = "CumProd CumSum",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
    .growth = growth,
};

}  // namespace codl::compiler::cumulate
