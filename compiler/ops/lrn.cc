#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler::lrn {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  if (llvm::Error error = expect_operand(node, 0, 4)) return error;
  const int32_t size = node.params<LrnParams>().size;
  if (size < 1 || size > kMaxDim)
    return input_error(node.node.name, "expected 1 to {0} channels in a sum, found {1}", kMaxDim,
                       size);
  ir::TensorType output = node.input(0);
  output.layout = Layout::Plain;
  return output;
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  return split_rules(node.output(), true, false);
}

// It divides by 1 or more, unless the parameters are odd.
Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<LrnParams>();
  if (params.bias < 1 || params.alpha < 0 || params.beta < 0) return {};
  return bounds_with_zero(node, operands);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Lrn,
    .onnx_types = "LRN",
    .infer = infer,
    .splits = splits,
    .input_range = same_range,
    .computes_in_nhwc = always_in_nhwc,
    .bounds = bounds,
};

}  // namespace codl::compiler::lrn
