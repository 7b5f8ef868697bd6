#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::top_k {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const auto params = node.params<TopKParams>();
  const ir::TensorType& x = node.input(0);
  if (!is_number(x.dtype))
    return unsupported_error(
        node.node.name, "expected an operand of f32, f64 or integers, found {0}", ir::to_string(x));
  if (params.axis < 0 || params.axis >= x.rank())
    return input_error(node.node.name, "expected an axis in [0, {0}), found {1}", x.rank(),
                       params.axis);
  const int32_t extent = x.dims[static_cast<size_t>(params.axis)];
  if (params.k < 1 || params.k > extent)
    return input_error(node.node.name, "expected k in [1, {0}], found {1}", extent, params.k);
  ir::TensorType y = x;
  y.layout = Layout::Plain;
  y.dtype = DType::I64;
  y.dims[static_cast<size_t>(params.axis)] = params.k;
  return y;
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::TopK,
    .onnx_types = "TopK",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
};

}  // namespace codl::compiler::top_k
