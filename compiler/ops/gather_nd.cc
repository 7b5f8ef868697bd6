#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::gather_nd {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 2)) return error;
  if (llvm::Error error = expect_typed(node, 1, DType::I64)) return error;
  const ir::TensorType& data = node.input(0);
  const ir::TensorType& indices = node.input(1);
  const int32_t batch_dims = node.params<GatherNdParams>().batch_dims;
  if (batch_dims < 0 || batch_dims >= data.rank() || batch_dims >= indices.rank())
    return input_error(where, "expected batch_dims in [0, rank) of {0} and {1}, found {2}",
                       ir::to_string(data), ir::to_string(indices), batch_dims);
  for (int32_t i = 0; i < batch_dims; ++i)
    if (data.dims[i] != indices.dims[i])
      return input_error(where, "expected the same {0} batch dims, found {1} and {2}", batch_dims,
                         ir::to_string(data), ir::to_string(indices));
  const int32_t tuple = indices.dims.back();
  if (tuple > data.rank() - batch_dims)
    return input_error(where, "expected at most {0} indices per tuple, found {1}",
                       data.rank() - batch_dims, tuple);
  llvm::SmallVector<int64_t, 4> dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.append(data.dims.begin() + batch_dims + tuple, data.dims.end());
  return checked_type(where, data.dtype, dims);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::GatherNd,
    .onnx_types = "GatherND",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = same_bounds,
};

}  // namespace codl::compiler::gather_nd
