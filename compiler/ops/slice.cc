#include "kernels/slice/slice.h"

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  if (llvm::Error error = expect_typed(node, 0)) return error;
  const ir::TensorType& x = node.input(0);
  const kernels::SliceAxes axes = kernels::slice_axes(node.params<SliceParams>());
  llvm::SmallVector<int64_t, 4> dims;
  for (int32_t i = 0; i < x.rank(); ++i) {
    if (axes.step[i] == 0) return input_error(where, "expected steps other than 0, found 0");
    if (axes.count[i] < 1)
      return unsupported_error(where, "expected at least 1 element along axis {0}, found {1}", i,
                               axes.count[i]);
    const int64_t first = axes.start[i];
    const int64_t last = first + (int64_t{axes.count[i]} - 1) * axes.step[i];
    if (first < 0 || first >= x.dims[i] || last < 0 || last >= x.dims[i])
      return input_error(where, "expected elements in [0, {0}) along axis {1}, found {2} to {3}",
                         x.dims[i], i, first, last);
    dims.push_back(axes.count[i]);
  }
  return checked_type(where, x.dtype, dims);
}

}  // namespace

extern const OpSpec kSliceSpec;
const OpSpec kSliceSpec = {
    .kind = OpKind::Slice,
    .onnx_types =
        "CausalConvWithState CenterCropPad Det LinearAttention RotaryEmbedding Scan Slice Split "
        "SplitToSequence",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
};

}  // namespace codl::compiler
