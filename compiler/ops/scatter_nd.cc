#include "compiler/ops/index_rules.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::scatter_nd {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 3)) return error;
  if (llvm::Error error = expect_scatter_types(node, node.params<ScatterNdParams>().reduction))
    return error;
  const ir::TensorType& data = node.input(0);
  const ir::TensorType& indices = node.input(1);
  if (data.rank() < 1 || indices.rank() < 1)
    return input_error(where, "expected data and indices of rank 1 or more, found {0} and {1}",
                       ir::to_string(data), ir::to_string(indices));
  const int32_t tuple = indices.dims.back();
  if (tuple > data.rank())
    return input_error(where, "expected at most {0} indices per tuple, found {1}", data.rank(),
                       tuple);
  ir::Dims expected(indices.dims.begin(), indices.dims.end() - 1);
  expected.append(data.dims.begin() + tuple, data.dims.end());
  if (node.input(2).dims != expected)
    return input_error(where, "expected updates of {0}, found {1}",
                       ir::to_string({data.dtype, expected}), ir::to_string(node.input(2)));
  ir::TensorType output = data;
  output.layout = Layout::Plain;
  return output;
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  return scatter_bounds(node.params<ScatterNdParams>().reduction, operands);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::ScatterNd,
    .onnx_types = "ScatterND",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
};

}  // namespace codl::compiler::scatter_nd
