// Dense matrices of doubles, row by row, and what the shrinking of networks computes with them.
// Only matrix.cc includes Eigen, because its templates take long to compile.
#pragma once

#include <cstdint>
#include <vector>

#include "llvm/ADT/ArrayRef.h"

namespace codl::compiler {

class Matrix {
 public:
  Matrix() = default;
  // Its elements are zero.
  Matrix(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), elements_(static_cast<size_t>(rows * columns)) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  double* data() { return elements_.data(); }
  const double* data() const { return elements_.data(); }
  double& operator()(int64_t row, int64_t column) {
    return elements_[static_cast<size_t>(row * columns_ + column)];
  }
  double operator()(int64_t row, int64_t column) const {
    return elements_[static_cast<size_t>(row * columns_ + column)];
  }
  llvm::MutableArrayRef<double> row(int64_t row) {
    return {data() + row * columns_, static_cast<size_t>(columns_)};
  }
  llvm::ArrayRef<double> row(int64_t row) const {
    return {data() + row * columns_, static_cast<size_t>(columns_)};
  }
  llvm::MutableArrayRef<double> elements() { return elements_; }
  llvm::ArrayRef<double> elements() const { return elements_; }

 private:
  int64_t rows_ = 0, columns_ = 0;
  std::vector<double> elements_;
};

Matrix transposed(const Matrix& matrix);
Matrix picked(const Matrix& matrix, llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<int64_t> columns);
Matrix picked_rows(const Matrix& matrix, llvm::ArrayRef<int64_t> rows);

// Adds factor * a * b to the sum.
void add_product(double factor, const Matrix& a, const Matrix& b, Matrix& sum);
Matrix product(const Matrix& a, const Matrix& b);
// Adds factor * transposed(a) * b to the sum, where a and b have only their first `rows` rows.
void add_transposed_product(double factor, const Matrix& a, const Matrix& b, int64_t rows,
                            Matrix& sum);
Matrix transposed_product(const Matrix& a, const Matrix& b);
// Adds to [columns, columns] the products of the matrix' columns with one another, which are
// computed in floats.
void add_column_products(llvm::ArrayRef<float> matrix, int64_t columns,
                         llvm::MutableArrayRef<double> sum);

// Adds to the diagonal of sums of products `share` of the mean of its elements but the last, whose
// factor is 1 in every product.
void add_ridge(double share, Matrix& sums);

// Returns x with a * x = b. `a` is symmetric and has no negative eigenvalue.
Matrix solved(const Matrix& a, const Matrix& b);
// Returns the inverse of a symmetric matrix whose eigenvalues are positive.
Matrix inverted(const Matrix& a);

struct Spectrum {
  std::vector<double> values;  // in ascending order
  Matrix vectors;              // the columns
};
Spectrum spectrum_of(const Matrix& symmetric);

}  // namespace codl::compiler
