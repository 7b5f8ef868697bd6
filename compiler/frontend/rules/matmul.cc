// Imports Gemm and MatMul: with constant float weights, which are packed, or with any two operands.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"
#include "schema/tables.h"

namespace codl::compiler {
namespace {

// Returns [n, k] as [k, n], times `factor`.
std::vector<float> transposed(llvm::ArrayRef<float> w, int64_t n, int64_t k, float factor) {
  // Goes 16 rows at a time, so that a whole cache line of the result is written. Fully connected
  // layers are the largest weights there are.
  constexpr int64_t kBlock = 16;
  std::vector<float> result(w.size());
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t last = std::min(first + kBlock, n);
    for (int64_t column = 0; column < k; ++column)
      for (int64_t row = first; row < last; ++row)
        result[column * n + row] = factor * w[row * k + column];
  }
  return result;
}

std::vector<float> scaled(llvm::ArrayRef<float> w, float factor) {
  std::vector<float> result(w.begin(), w.end());
  for (float& element : result) element *= factor;
  return result;
}

// Returns true if Gemm's C is a bias per column: its dims broadcast to [m, n] with every row alike.
bool is_per_column(llvm::ArrayRef<int64_t> dims, int64_t n) {
  if (dims.empty()) return true;
  if (dims.size() > 2 || (dims.back() != 1 && dims.back() != n)) return false;
  return dims.size() == 1 || dims[0] == 1;
}

std::vector<float> bias_per_column(llvm::ArrayRef<float> c, int64_t n, float beta) {
  std::vector<float> bias(n);
  for (int64_t i = 0; i < n; ++i) bias[i] = beta * (c.size() == 1 ? c[0] : c[i]);
  return bias;
}

struct Gemm {
  float alpha = 1;
  float beta = 1;
  bool is_a_transposed = false;
  bool is_b_transposed = false;
};

llvm::Expected<Gemm> read_gemm(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.0f));
  CODL_ASSIGN_OR_RETURN(beta, node.float_or("beta", 1.0f));
  CODL_ASSIGN_OR_RETURN(transpose_a, node.int_or("transA", 0));
  CODL_ASSIGN_OR_RETURN(transpose_b, node.int_or("transB", 0));
  if (node.opset < 7) ignore_attributes(node, {"broadcast"});  // since then C always broadcasts
  return Gemm{alpha, beta, transpose_a != 0, transpose_b != 0};
}

// Computes x [m, k] w [k, n] + bias [n], with weights that are packed; without bias it adds zeros.
ir::ValueId packed_product(Compose& c, ir::ValueId x, ir::ValueId w, std::vector<float> bias) {
  const int64_t n = c.type(w).rank() == 2 ? c.dims(w)[1] : 0;
  if (bias.empty()) bias.assign(n, 0.0f);
  return c.node(OpKind::MatMul, MatMulParams{}, {x, w, c.floats(bias, {n}, "bias")});
}

// Returns alpha * B as [k, n]; B itself if it is that already.
llvm::Expected<ir::ValueId> gemm_weights(const OnnxNode& node, Importer& importer, Compose& c,
                                         const Gemm& gemm) {
  CODL_ASSIGN_OR_RETURN(b, importer.constant(node, 1));
  if (gemm.is_b_transposed)
    return c.floats(transposed(b.as<float>(), b.dims[0], b.dims[1], gemm.alpha),
                    {b.dims[1], b.dims[0]}, "weights");
  if (gemm.alpha != 1) return c.floats(scaled(b.as<float>(), gemm.alpha), b.dims, "weights");
  return c.operand(1);
}

// Returns x times `factor`. Integers stay integers if the factor is one, else double computes the
// product.
ir::ValueId times(Compose& c, ir::ValueId x, float factor) {
  if (factor == 1) return x;
  const DType dtype = c.type(x).dtype;
  const bool is_exact = dtype == DType::F32 || std::trunc(factor) == factor;
  const DType wide = is_exact ? dtype : DType::F64;
  return c.cast(c.mul(c.cast(x, wide), c.scalar(wide, factor)), dtype);
}

// Returns product + beta * C. C broadcasts to the product, but the product never broadcasts to C.
ir::ValueId plus_c(const OnnxNode& node, Compose& c, const Gemm& gemm, ir::ValueId product) {
  if (!node.has_input(2) || gemm.beta == 0) return product;
  const ir::ValueId addend = c.operand(2);
  const ir::ValueId sum = c.add(product, times(c, addend, gemm.beta));
  if (c.dims(sum) != c.dims(product))
    c.fail(input_error(node.name, "expected C to broadcast to {0}, found {1}",
                       ir::to_string(c.type(product)), ir::to_string(c.type(addend))));
  return sum;
}

llvm::Error import_packed_gemm(const OnnxNode& node, Importer& importer, const Gemm& gemm) {
  Compose c(node, importer);
  ir::ValueId x = c.operand(0);
  if (gemm.is_a_transposed) x = c.transpose(x, {1, 0});
  CODL_ASSIGN_OR_RETURN(w, gemm_weights(node, importer, c, gemm));
  if (node.has_input(2) && gemm.beta != 0 && importer.is_constant(node, 2)) {
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 2));
    CODL_ASSIGN_OR_RETURN(addend, importer.float_constant(node, 2));
    const int64_t n = c.type(w).rank() == 2 ? c.dims(w)[1] : 0;
    if (is_per_column(dims, n))
      return c.bind(packed_product(c, x, w, bias_per_column(addend, n, gemm.beta)));
  }
  return c.bind(plus_c(node, c, gemm, packed_product(c, x, w, {})));
}

// Returns true for floats and constant weights of rank 2.
llvm::Expected<bool> is_packed(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dtype, importer.dtype_of(node, 1));
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 1));
  return dtype == DType::F32 && dims.size() == 2 && importer.is_constant(node, 1);
}

llvm::Error import_gemm(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(gemm, read_gemm(node));
  CODL_ASSIGN_OR_RETURN(a_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(b_dims, importer.dims_of(node, 1));
  if (a_dims.size() != 2 || b_dims.size() != 2)
    return input_error(node.name, "expected A and B of rank 2, found {0} and {1}", a_dims.size(),
                       b_dims.size());
  CODL_ASSIGN_OR_RETURN(has_weights, is_packed(node, importer));
  if (has_weights) return import_packed_gemm(node, importer, gemm);
  Compose c(node, importer);
  const BatchMatMulParams params = {gemm.is_a_transposed ? 1 : 0, gemm.is_b_transposed ? 1 : 0};
  const ir::ValueId a = c.operand(0);
  const ir::ValueId product = c.node(OpKind::BatchMatMul, params, {a, c.operand(1)});
  return c.bind(plus_c(node, c, gemm, times(c, product, gemm.alpha)));
}

// Multiplies A [..., k] with a constant B [k, n]: the dims before k are rows.
llvm::Error import_packed_matmul(const OnnxNode& node, Importer& importer,
                                 llvm::ArrayRef<int64_t> x_dims) {
  Compose c(node, importer);
  const ir::ValueId x = c.operand(0);
  const int64_t rows = element_count(x_dims.drop_back());
  const ir::ValueId w = c.operand(1);
  const ir::ValueId product = packed_product(c, c.reshape(x, {rows, x_dims.back()}), w, {});
  Dims64 dims(x_dims.begin(), x_dims.end());
  dims.back() = c.type(w).rank() == 2 ? c.dims(w)[1] : 0;
  return c.bind(c.reshape(product, dims));
}

llvm::Error import_matmul(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(a_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(b_dims, importer.dims_of(node, 1));
  if (a_dims.empty() || b_dims.empty())
    return input_error(node.name, "expected A and B of rank >= 1, found {0} and {1}", a_dims.size(),
                       b_dims.size());
  CODL_ASSIGN_OR_RETURN(has_weights, is_packed(node, importer));
  if (has_weights) return import_packed_matmul(node, importer, a_dims);
  Compose c(node, importer);
  const ir::ValueId a = c.operand(0);
  return c.bind(c.matmul(a, c.operand(1)));
}

}  // namespace

llvm::ArrayRef<ImportEntry> matmul_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Gemm", 6, kNewestOpset, import_gemm},
      {"MatMul", 1, kNewestOpset, import_matmul},
  };
  return kEntries;
}

}  // namespace codl::compiler
