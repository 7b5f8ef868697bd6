#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  return unsupported_error(node.node.name, "SKELETON");
}

}  // namespace

extern const OpSpec kDepthToSpaceSpec;
const OpSpec kDepthToSpaceSpec = {
    .kind = OpKind::DepthToSpace,
    .onnx_types = "",
    .infer = infer,
    .work = elementwise_work,
    .splits = no_splits,
    .input_range = whole_range,
};

}  // namespace codl::compiler
