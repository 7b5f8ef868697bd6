#include <algorithm>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::compress {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 2)) return error;
  if (llvm::Error error = expect_typed(node, 1, DType::Bool)) return error;
  const ir::TensorType& x = node.input(0);
  const ir::TensorType& condition = node.input(1);
  const int32_t axis = node.params<CompressParams>().axis;
  if (axis < 0 || axis >= x.rank())
    return input_error(where, "expected an axis in [0, {0}), found {1}", x.rank(), axis);
  if (condition.rank() != 1)
    return input_error(where, "expected a condition of rank 1, found {0}",
                       ir::to_string(condition));
  ir::TensorType output = x;
  output.layout = Layout::Plain;
  output.dims[axis] = std::min(x.dims[axis], condition.dims[0]);
  return output;
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Compress,
    .onnx_types = "Compress",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds_with_zero,
};

}  // namespace codl::compiler::compress
