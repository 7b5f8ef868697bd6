#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::matmul {
namespace {

enum Operand : uint32_t { kX = 0, kW = 1, kBias = 2 };

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 3)) return error;
  if (llvm::Error error = expect_operand(node, kX, 2)) return error;
  if (llvm::Error error = expect_operand(node, kW, 2)) return error;
  if (llvm::Error error = expect_operand(node, kBias, 1)) return error;
  const ir::Dims& x = node.input(kX).dims;
  const ir::Dims& w = node.input(kW).dims;
  if (x[1] != w[0])
    return input_error(where, "expected {0} columns of the first operand, found {1}", w[0],
                       ir::to_string(node.input(kX)));
  if (node.input(kBias).dims[0] != w[1])
    return input_error(where, "expected a bias of {0} elements, found {1}", w[1],
                       node.input(kBias).dims[0]);
  return checked_type(where, DType::F32, {x[0], w[1]});
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  return split_rules(node.output(), false, true);
}

// Every column of the output reads all of x.
Range input_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range) {
  return whole_extent(node.input(operand), dim);
}

void channels(const ir::NodeView& node, ChannelLinks& links) {
  links.tie({kX, 1}, {kW, 0}, node.input(kX).dims[1]);
  links.tie({kW, 1}, {ChannelLinks::kResult, 1}, node.output().dims[1]);
  links.tie({kBias, 0}, {ChannelLinks::kResult, 1}, node.output().dims[1]);
  links.makes({kW, 1});
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto columns = static_cast<size_t>(node.input(kW).dims[1]);
  std::vector<Interval> sums = weighted_sums(operands[kX], node.input_value(kW), columns,
                                             [&](size_t i) { return i % columns; });
  add_bias(sums, node.input_value(kBias), operands[kBias]);
  return activated(hull_of(sums), node.params<MatMulParams>());
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::MatMul,
    .onnx_types =
        "Gemm MatMul MatMulInteger QLinearMatMul com.microsoft.Attention "
        "com.microsoft.DynamicQuantizeMatMul com.microsoft.FusedGemm "
        "com.microsoft.FusedMatMul com.microsoft.MatMulIntegerToFloat "
        "com.microsoft.MatMulNBits com.microsoft.QGemm com.microsoft.TransposeMatMul",
    .infer = infer,
    .splits = splits,
    .input_range = input_range,
    .bounds = bounds,
    .channels = channels,
};

}  // namespace codl::compiler::matmul
