// Gemm and MatMul with constant weights.
#include <algorithm>

#include "compiler/frontend/rules.h"
#include "compiler/support/error.h"
#include "schema/tables.h"

namespace codl::compiler {
namespace {

// [n, k] to [k, n], times `factor`.
std::vector<float> transposed(llvm::ArrayRef<float> w, int64_t n, int64_t k, float factor) {
  // 16 rows at a time: a cache line of the result is written whole. Fully connected layers are the
  // largest weights there are.
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

llvm::Expected<ir::ValueId> zero_bias(const OnnxNode& node, Importer& importer, int64_t n) {
  return importer.add_floats(node, "bias", {n}, std::vector<float>(n, 0.0f));
}

// C of Gemm as a bias per column, if it is one: dims that broadcast to [m, n] with every row alike.
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
  int64_t transpose_a = 0;
  int64_t transpose_b = 0;
};

llvm::Expected<Gemm> read_gemm(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(alpha, node.float_or("alpha", 1.0f));
  CODL_ASSIGN_OR_RETURN(beta, node.float_or("beta", 1.0f));
  CODL_ASSIGN_OR_RETURN(transpose_a, node.int_or("transA", 0));
  CODL_ASSIGN_OR_RETURN(transpose_b, node.int_or("transB", 0));
  return Gemm{alpha, beta, transpose_a, transpose_b};
}

// alpha * B as [k, n]: B itself where that is what it is.
llvm::Expected<ir::ValueId> gemm_weights(const OnnxNode& node, Importer& importer,
                                         const Gemm& gemm) {
  CODL_ASSIGN_OR_RETURN(b, importer.constant(node, 1));
  if (b.dims.size() != 2)
    return input_error(node.name, "expected B of rank 2, found {0}", b.dims.size());
  if (gemm.transpose_b)
    return importer.add_floats(node, "weights", {b.dims[1], b.dims[0]},
                               transposed(b.as<float>(), b.dims[0], b.dims[1], gemm.alpha));
  if (gemm.alpha != 1)
    return importer.add_floats(node, "weights", b.dims, scaled(b.as<float>(), gemm.alpha));
  return importer.operand(node, 1);
}

// y = matmul + beta * C, for a C that is no bias per column.
llvm::Error add_matrix(const OnnxNode& node, Importer& importer, const Gemm& gemm,
                       ir::ValueId product) {
  if (gemm.beta != 1)
    return unsupported_error(node.name, "expected beta 1 for a C that is no bias, found {0}",
                             gemm.beta);
  CODL_ASSIGN_OR_RETURN(c, importer.operand(node, 2));
  if (importer.type(c).rank() != 2)
    return unsupported_error(node.name, "expected C of rank 2, found {0}",
                             ir::to_string(importer.type(c)));
  CODL_ASSIGN_OR_RETURN(sum, importer.append(node, "", OpKind::Binary,
                                             BinaryParams{.kind = kBinaryAdd}, {product, c}));
  // C broadcasts to the product, never the product to C.
  if (importer.type(sum).dims != importer.type(product).dims)
    return input_error(node.name, "expected C to broadcast to {0}, found {1}",
                       ir::to_string(importer.type(product)), ir::to_string(importer.type(c)));
  importer.bind(node, sum);
  return llvm::Error::success();
}

llvm::Error import_gemm(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(gemm, read_gemm(node));
  if (gemm.transpose_a)
    return unsupported_error(node.name, "expected transA 0, found {0}", gemm.transpose_a);
  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  CODL_ASSIGN_OR_RETURN(w, gemm_weights(node, importer, gemm));
  const int64_t n = importer.type(w).dims[1];
  if (node.has_input(2) && gemm.beta != 0) {
    CODL_ASSIGN_OR_RETURN(c_dims, importer.dims_of(node, 2));
    auto c = importer.constant(node, 2);
    if (c && is_per_column(c_dims, n)) {
      CODL_ASSIGN_OR_RETURN(
          bias,
          importer.add_floats(node, "bias", {n}, bias_per_column(c->as<float>(), n, gemm.beta)));
      CODL_ASSIGN_OR_RETURN(
          output, importer.append(node, "", OpKind::MatMul, MatMulParams{}, {x, w, bias}));
      importer.bind(node, output);
      return llvm::Error::success();
    }
    llvm::consumeError(c.takeError());
    CODL_ASSIGN_OR_RETURN(zero, zero_bias(node, importer, n));
    CODL_ASSIGN_OR_RETURN(
        product, importer.append(node, "product", OpKind::MatMul, MatMulParams{}, {x, w, zero}));
    return add_matrix(node, importer, gemm, product);
  }
  CODL_ASSIGN_OR_RETURN(zero, zero_bias(node, importer, n));
  CODL_ASSIGN_OR_RETURN(output,
                        importer.append(node, "", OpKind::MatMul, MatMulParams{}, {x, w, zero}));
  importer.bind(node, output);
  return llvm::Error::success();
}

// A [..., k] times a constant B [k, n]: the dims in front of k are rows.
llvm::Error import_matmul(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(x_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(b, importer.constant(node, 1));
  if (b.dims.size() != 2)
    return unsupported_error(node.name, "expected B of rank 2, found {0}", b.dims.size());
  if (x_dims.empty()) return input_error(node.name, "expected A of rank >= 1, found 0");
  const int64_t k = x_dims.back();
  const int64_t n = b.dims[1];
  int64_t rows = 1;
  for (int64_t dim : llvm::makeArrayRef(x_dims).drop_back()) rows *= dim;

  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  CODL_ASSIGN_OR_RETURN(w, importer.operand(node, 1));
  CODL_ASSIGN_OR_RETURN(zero, zero_bias(node, importer, n));
  const bool is_matrix = x_dims.size() == 2;
  ir::ValueId matrix = x;
  if (!is_matrix) {
    CODL_ASSIGN_OR_RETURN(flat, importer.append_reshape(node, "rows", x, {rows, k}));
    matrix = flat;
  }
  CODL_ASSIGN_OR_RETURN(product, importer.append(node, is_matrix ? "" : "product", OpKind::MatMul,
                                                 MatMulParams{}, {matrix, w, zero}));
  if (is_matrix) {
    importer.bind(node, product);
    return llvm::Error::success();
  }
  llvm::SmallVector<int64_t, 4> y_dims(x_dims.begin(), x_dims.end() - 1);
  y_dims.push_back(n);
  CODL_ASSIGN_OR_RETURN(output, importer.append_reshape(node, "", product, y_dims));
  importer.bind(node, output);
  return llvm::Error::success();
}

constexpr ImportRow kRows[] = {
    {"Gemm", 7, kNewestOpset, import_gemm},
    {"MatMul", 7, kNewestOpset, import_matmul},
};

}  // namespace

llvm::ArrayRef<ImportRow> matmul_rows() { return kRows; }

}  // namespace codl::compiler
