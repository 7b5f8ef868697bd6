// Solves least squares, with and without a bound.
#pragma once

#include <vector>

namespace codl::profiler {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;  // row by row

// Solves the symmetric positive definite system by Cholesky's method. A pivot that is only rounding
// gives 0, because the column depends on earlier ones.
std::vector<double> solve_positive(std::vector<std::vector<double>> a, std::vector<double> b);

// Returns the x >= 0 with the least |A x - b|^2 after Lawson and Hanson, "Solving Least Squares
// Problems", 1974, chapter 23. `rows` of A have equal lengths.
std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& rows,
                                               const std::vector<double>& b);

struct NormalEquations {
  Matrix gram;   // A^T A
  Vector right;  // A^T b
};

// Requires rows of equal lengths.
NormalEquations normal_equations(const Matrix& rows, const Vector& b);

}  // namespace codl::profiler
