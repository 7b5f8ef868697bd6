#include "compiler/shrink/matrix.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>

namespace codl::compiler {
namespace {

template <typename T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<const Rows<double>>;
using MutableView = Eigen::Map<Rows<double>>;

View view(const Matrix& matrix) { return {matrix.data(), matrix.rows(), matrix.columns()}; }
MutableView view(Matrix& matrix) { return {matrix.data(), matrix.rows(), matrix.columns()}; }

}  // namespace

Matrix transposed(const Matrix& matrix) {
  Matrix result(matrix.columns(), matrix.rows());
  view(result) = view(matrix).transpose();
  return result;
}

Matrix picked(const Matrix& matrix, llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<int64_t> columns) {
  Matrix result(static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns.size()));
  double* element = result.data();
  for (int64_t row : rows)
    for (int64_t column : columns) *element++ = matrix(row, column);
  return result;
}

Matrix picked_rows(const Matrix& matrix, llvm::ArrayRef<int64_t> rows) {
  Matrix result(static_cast<int64_t>(rows.size()), matrix.columns());
  double* out = result.data();
  for (int64_t row : rows) {
    const double* const from = matrix.data() + row * matrix.columns();
    out = std::copy_n(from, matrix.columns(), out);
  }
  return result;
}

void add_product(double factor, const Matrix& a, const Matrix& b, Matrix& sum) {
  view(sum).noalias() += factor * view(a) * view(b);
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows(), b.columns());
  add_product(1, a, b, result);
  return result;
}

void add_transposed_product(double factor, const Matrix& a, const Matrix& b, int64_t rows,
                            Matrix& sum) {
  const View top_a(a.data(), rows, a.columns()), top_b(b.data(), rows, b.columns());
  view(sum).noalias() += factor * top_a.transpose() * top_b;
}

Matrix transposed_product(const Matrix& a, const Matrix& b) {
  Matrix result(a.columns(), b.columns());
  add_transposed_product(1, a, b, a.rows(), result);
  return result;
}

void add_column_products(llvm::ArrayRef<float> matrix, int64_t columns,
                         llvm::MutableArrayRef<double> sum) {
  const Eigen::Map<const Rows<float>> floats(
      matrix.data(), static_cast<int64_t>(matrix.size()) / columns, columns);
  const Rows<float> products = floats.transpose() * floats;
  for (int64_t i = 0; i < columns * columns; ++i) sum[i] += products.data()[i];
}

void add_ridge(double share, Matrix& sums) {
  const int64_t last = sums.rows() - 1;
  double ridge = 0;
  for (int64_t i = 0; i < last; ++i) ridge += share * sums(i, i) / static_cast<double>(last);
  // The little that is added keeps a matrix of zeros regular.
  for (int64_t i = 0; i <= last; ++i) sums(i, i) += ridge + 1e-12;
}

Matrix solved(const Matrix& a, const Matrix& b) {
  const Eigen::LDLT<Eigen::MatrixXd> factors(view(a));
  Matrix x(a.rows(), b.columns());
  view(x) = factors.solve(view(b));
  return x;
}

Matrix inverted(const Matrix& a) {
  const Eigen::LLT<Eigen::MatrixXd> factors(view(a));
  Matrix x(a.rows(), a.rows());
  view(x) = factors.solve(Eigen::MatrixXd::Identity(a.rows(), a.rows()));
  return x;
}

Spectrum spectrum_of(const Matrix& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver{Eigen::MatrixXd(view(symmetric))};
  const Eigen::VectorXd& values = solver.eigenvalues();
  Spectrum result{{values.begin(), values.end()}, Matrix(symmetric.rows(), symmetric.rows())};
  view(result.vectors) = solver.eigenvectors();
  return result;
}

}  // namespace codl::compiler
