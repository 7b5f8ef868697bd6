#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::expand {
namespace {

// The dims are the output's own (ops.def): the node must have its output.
llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const ir::TensorType& x = node.input(0);
  const ir::Dims& output = node.output().dims;
  const size_t added = output.size() - x.dims.size();
  bool fits = x.dims.size() <= output.size();
  for (size_t i = 0; fits && i < x.dims.size(); ++i)
    fits = x.dims[i] == 1 || x.dims[i] == output[added + i];
  if (!fits)
    return input_error(where, "expected dims that {0} can be repeated to, found {1}",
                       ir::to_string(x), ir::to_string(node.output()));
  return checked_type(where, x.dtype, llvm::SmallVector<int64_t, 4>(output.begin(), output.end()));
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Expand,
    .onnx_types = "Expand Tile",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = same_bounds,
};

}  // namespace codl::compiler::expand
