#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::gather {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 2)) return error;
  if (llvm::Error error = expect_typed(node, 1, DType::I64)) return error;
  const ir::TensorType& data = node.input(0);
  const int32_t axis = node.params<GatherParams>().axis;
  if (axis < 0 || axis >= data.rank())
    return input_error(where, "expected an axis in [0, {0}), found {1}", data.rank(), axis);
  llvm::SmallVector<int64_t, 4> dims(data.dims.begin(), data.dims.begin() + axis);
  dims.append(node.input(1).dims.begin(), node.input(1).dims.end());
  dims.append(data.dims.begin() + axis + 1, data.dims.end());
  return checked_type(where, data.dtype, dims);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Gather,
    .onnx_types =
        "Gather NegativeLogLikelihoodLoss STFT SoftmaxCrossEntropyLoss "
        "com.microsoft.EmbedLayerNormalization com.microsoft.GatherBlockQuantized "
        "com.microsoft.RotaryEmbedding",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = same_bounds,
};

}  // namespace codl::compiler::gather
