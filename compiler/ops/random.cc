#include "kernels/random/random.h"

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::random {
namespace {

// The dims are the output's own (ops.def): the node must have its output.
llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  const int32_t kind = node.params<RandomParams>().kind;
  if (member_name(OpKind::Random, kind).empty())
    return input_error(node.node.name, "expected a kind of Random, found {0}", kind);
  const ir::Dims& dims = node.output().dims;
  return checked_type(node.node.name, DType::F32,
                      llvm::SmallVector<int64_t, 4>(dims.begin(), dims.end()));
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval>) {
  const auto params = node.params<RandomParams>();
  const Interval numbers =
      params.kind == kRandomNormal ? Interval::within(kernels::kMaxRandomNormal) : Interval{0, 1};
  return Interval::of(params.location) + Interval::of(params.scale) * numbers;
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::Random,
    .onnx_types = "RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
};

}  // namespace codl::compiler::random
