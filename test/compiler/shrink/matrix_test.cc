#include "compiler/shrink/matrix.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

Matrix random_matrix(int64_t rows, int64_t columns) {
  std::mt19937 random(static_cast<uint32_t>(rows * 100 + columns));
  Matrix matrix(rows, columns);
  for (double& element : matrix.elements())
    element = static_cast<double>(random()) / 4294967296.0 - 0.5;
  return matrix;
}

Matrix plain_product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows(), b.columns());
  for (int64_t i = 0; i < a.rows(); ++i)
    for (int64_t j = 0; j < b.columns(); ++j)
      for (int64_t k = 0; k < a.columns(); ++k) result(i, j) += a(i, k) * b(k, j);
  return result;
}

// Returns the largest difference of two elements, or 1 if the sizes differ.
double distance(const Matrix& a, const Matrix& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns()) return 1;
  double most = 0;
  for (size_t i = 0; i < a.elements().size(); ++i)
    most = std::max(most, std::abs(a.elements()[i] - b.elements()[i]));
  return most;
}

// Returns a symmetric matrix whose eigenvalues are all positive.
Matrix positive(int64_t size) {
  const Matrix matrix = random_matrix(size + 4, size);
  Matrix result = plain_product(transposed(matrix), matrix);
  for (int64_t i = 0; i < size; ++i) result(i, i) += 0.5;
  return result;
}

Matrix identity(int64_t size) {
  Matrix result(size, size);
  for (int64_t i = 0; i < size; ++i) result(i, i) = 1;
  return result;
}

constexpr double kMaxDistance = 1e-12;

}  // namespace

TEST_CASE("products of matrices are those of plain loops") {
  const Matrix a = random_matrix(23, 37), b = random_matrix(37, 19), c = random_matrix(23, 19);
  CHECK(transposed(a)(30, 20) == a(20, 30));
  CHECK(distance(transposed(transposed(a)), a) == 0);
  CHECK(distance(product(a, b), plain_product(a, b)) < kMaxDistance);
  CHECK(distance(transposed_product(a, c), plain_product(transposed(a), c)) < kMaxDistance);
  Matrix sum = c;
  add_product(-2, a, b, sum);
  CHECK(distance(sum, c) > 0.1);
  add_product(2, a, b, sum);
  CHECK(distance(sum, c) < kMaxDistance);
  // Rows from 10 on have no part in it.
  const std::vector<int64_t> first = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  Matrix top(37, 19);
  add_transposed_product(1, a, c, 10, top);
  CHECK(distance(top, plain_product(transposed(picked_rows(a, first)), picked_rows(c, first))) <
        kMaxDistance);
}

TEST_CASE("products of columns are added") {
  const Matrix a = random_matrix(9, 5);
  const std::vector<float> floats(a.elements().begin(), a.elements().end());
  Matrix sum = identity(5);
  add_column_products(floats, 5, sum.elements());
  Matrix expected = plain_product(transposed(a), a);
  for (int64_t i = 0; i < 5; ++i) expected(i, i) += 1;
  CHECK(distance(sum, expected) < 1e-6);
}

TEST_CASE("rows and columns are picked in the order asked for") {
  const Matrix a = random_matrix(6, 7);
  const Matrix some = picked(a, {4, 1}, {6, 0, 3});
  REQUIRE(some.rows() == 2);
  REQUIRE(some.columns() == 3);
  CHECK(some(0, 0) == a(4, 6));
  CHECK(some(1, 2) == a(1, 3));
  CHECK(picked_rows(a, {5, 2})(1, 6) == a(2, 6));
  CHECK(picked(a, {}, {1}).elements().empty());
}

TEST_CASE("systems of equations are solved") {
  const Matrix a = positive(33), b = random_matrix(33, 6);
  CHECK(distance(plain_product(a, solved(a, b)), b) < kMaxDistance);
  CHECK(distance(plain_product(a, inverted(a)), identity(33)) < kMaxDistance);
  CHECK(solved(a, Matrix(33, 0)).columns() == 0);
}

TEST_CASE("a spectrum has its values in ascending order, and makes the matrix again") {
  const Matrix a = positive(21);
  const Spectrum spectrum = spectrum_of(a);
  CHECK(std::is_sorted(spectrum.values.begin(), spectrum.values.end()));
  Matrix scaled = spectrum.vectors;
  for (int64_t i = 0; i < 21; ++i)
    for (int64_t j = 0; j < 21; ++j) scaled(i, j) *= spectrum.values[static_cast<size_t>(j)];
  CHECK(distance(plain_product(scaled, transposed(spectrum.vectors)), a) < kMaxDistance);
}

TEST_CASE("a ridge is a share of the mean of the diagonal but its last element") {
  Matrix sums(3, 3);
  sums(0, 0) = 2;
  sums(1, 1) = 6;
  sums(2, 2) = 100;
  add_ridge(0.5, sums);
  CHECK(sums(0, 0) == Approx(4));
  CHECK(sums(2, 2) == Approx(102));
  CHECK(sums(0, 1) == 0);
}

}  // namespace codl::compiler
