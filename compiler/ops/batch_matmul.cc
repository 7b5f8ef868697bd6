#include <algorithm>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::batch_matmul {
namespace {

struct MatMulDims {
  int32_t m, k, b_k, n;
};

// Requires operands of rank 2 or more.
MatMulDims matmul_dims(const ir::NodeView& node) {
  const auto params = node.params<BatchMatMulParams>();
  const ir::Dims& a = node.input(0).dims;
  const ir::Dims& b = node.input(1).dims;
  const bool ta = params.is_a_transposed != 0;
  const bool tb = params.is_b_transposed != 0;
  return {a[a.size() - (ta ? 1 : 2)], a[a.size() - (ta ? 2 : 1)], b[b.size() - (tb ? 1 : 2)],
          b[b.size() - (tb ? 2 : 1)]};
}

llvm::Error check_operand_types(const ir::NodeView& node) {
  if (llvm::Error error = expect_operand_count(node, 2)) return error;
  const ir::TensorType& a = node.input(0);
  const ir::TensorType& b = node.input(1);
  if (a.dtype != DType::F32 && !is_integer(a.dtype))
    return unsupported_error(node.node.name, "expected operands of f32 or integers, found {0}",
                             ir::to_string(a));
  if (a.dtype != b.dtype)
    return input_error(node.node.name, "expected operands of one type, found {0} and {1}",
                       ir::to_string(a), ir::to_string(b));
  if (a.rank() < 2 || b.rank() < 2)
    return input_error(node.node.name, "expected operands of rank 2 or more, found {0} and {1}",
                       ir::to_string(a), ir::to_string(b));
  return llvm::Error::success();
}

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  if (llvm::Error error = check_operand_types(node)) return error;
  const ir::TensorType& a = node.input(0);
  const ir::TensorType& b = node.input(1);
  const MatMulDims dims = matmul_dims(node);
  if (dims.k != dims.b_k)
    return input_error(node.node.name, "expected operands of one inner dim, found {0} and {1}",
                       ir::to_string(a), ir::to_string(b));
  const int32_t rank = std::max(a.rank(), b.rank());
  llvm::SmallVector<int64_t, 8> y;
  for (int32_t i = 0; i + 2 < rank; ++i) {
    const int32_t own_a = i - (rank - a.rank());
    const int32_t own_b = i - (rank - b.rank());
    const int32_t dim_a = own_a < 0 ? 1 : a.dims[static_cast<size_t>(own_a)];
    const int32_t dim_b = own_b < 0 ? 1 : b.dims[static_cast<size_t>(own_b)];
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1)
      return input_error(node.node.name, "expected operands that broadcast, found {0} and {1}",
                         ir::to_string(a), ir::to_string(b));
    y.push_back(std::max(dim_a, dim_b));
  }
  y.push_back(dims.m);
  y.push_back(dims.n);
  return checked_type(node.node.name, a.dtype, y);
}

// Rows, columns and the summed dim can lose elements; the dims before them stay.
void channels(const ir::NodeView& node, ChannelLinks& links) {
  const auto params = node.params<BatchMatMulParams>();
  const int32_t a = node.input(0).rank() - 2, b = node.input(1).rank() - 2;
  const int32_t y = node.output().rank() - 2;
  if (a < 0 || b < 0 || y < 0) return;
  const int32_t rows_of_a = a + (params.is_a_transposed ? 1 : 0);
  const int32_t sum_of_a = a + (params.is_a_transposed ? 0 : 1);
  const int32_t sum_of_b = b + (params.is_b_transposed ? 1 : 0);
  const int32_t columns_of_b = b + (params.is_b_transposed ? 0 : 1);
  links.tie({0, rows_of_a}, {ChannelLinks::kResult, y}, node.output().dims[y]);
  links.tie({0, sum_of_a}, {1, sum_of_b}, node.input(0).dims[sum_of_a]);
  links.tie({1, columns_of_b}, {ChannelLinks::kResult, y + 1}, node.output().dims[y + 1]);
}

// Weights have their own sums, one for each column of each matrix.
Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const MatMulDims dims = matmul_dims(node);
  if (!node.input_value(1).is_constant) return operands[0] * operands[1] * Interval::of(dims.k);
  const auto k = static_cast<size_t>(dims.k), n = static_cast<size_t>(dims.n);
  const bool is_transposed = node.params<BatchMatMulParams>().is_b_transposed != 0;
  const size_t sums = static_cast<size_t>(node.input(1).element_count()) / k;
  return hull_of(weighted_sums(operands[0], node.input_value(1), sums, [&](size_t i) {
    return is_transposed ? i / k : i / (k * n) * n + i % n;
  }));
}

Growth growth(const ir::NodeView&, llvm::ArrayRef<Interval> operands) {
  return growth_of_product(operands[0], operands[1]);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::BatchMatMul,
    .onnx_types =
        "AffineGrid Attention DFT Einsum Gemm LinearAttention MatMul MatMulInteger "
        "QLinearMatMul STFT com.microsoft.Attention com.microsoft.DynamicQuantizeMatMul "
        "com.microsoft.FusedGemm com.microsoft.FusedMatMul com.microsoft.GroupQueryAttention "
        "com.microsoft.MatMulIntegerToFloat com.microsoft.MultiHeadAttention "
        "com.microsoft.QGemm com.microsoft.TransposeMatMul",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
    .growth = growth,
    .channels = channels,
};

}  // namespace codl::compiler::batch_matmul
