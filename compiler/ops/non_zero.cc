#include <algorithm>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::non_zero {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const ir::TensorType& x = node.input(0);
  return checked_type(node.node.name, DType::I64,
                      {std::max<int64_t>(x.rank(), 1), x.element_count()});
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::NonZero,
    .onnx_types = "NonZero",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
};

}  // namespace codl::compiler::non_zero
