#include "compiler/ops/index_rules.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::gather_elements {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 2)) return error;
  if (llvm::Error error = expect_typed(node, 1, DType::I64)) return error;
  const ir::TensorType& data = node.input(0);
  const ir::TensorType& indices = node.input(1);
  const int32_t axis = node.params<GatherElementsParams>().axis;
  if (axis < 0 || axis >= data.rank())
    return input_error(where, "expected an axis in [0, {0}), found {1}", data.rank(), axis);
  if (llvm::Error error = expect_indices_inside(node, 0, 1, axis)) return error;
  return checked_type(where, data.dtype,
                      llvm::SmallVector<int64_t, 4>(indices.dims.begin(), indices.dims.end()));
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::GatherElements,
    .onnx_types =
        "GatherElements NegativeLogLikelihoodLoss ReverseSequence SoftmaxCrossEntropyLoss TopK",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = same_bounds,
};

}  // namespace codl::compiler::gather_elements
