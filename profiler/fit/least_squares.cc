#include "profiler/fit/least_squares.h"

#include <algorithm>
#include <cmath>

namespace codl::profiler {

std::vector<double> solve_positive(std::vector<std::vector<double>> a, std::vector<double> b) {
  const size_t n = b.size();
  std::vector<double> scale(n);
  for (size_t i = 0; i < n; ++i) scale[i] = a[i][i];
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    const bool depends = a[j][j] <= 1e-12 * scale[j];
    a[j][j] = depends ? 0 : std::sqrt(a[j][j]);
    for (size_t i = j + 1; i < n; ++i) {
      for (size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] = depends ? 0 : a[i][j] / a[j][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] = a[i][i] > 0 ? b[i] / a[i][i] : 0;
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] = a[i][i] > 0 ? b[i] / a[i][i] : 0;
  }
  return b;
}

NormalEquations normal_equations(const Matrix& rows, const Vector& b) {
  const size_t n = rows.empty() ? 0 : rows[0].size();
  NormalEquations normal = {Matrix(n, Vector(n)), Vector(n)};
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t i = 0; i < n; ++i) {
      normal.right[i] += rows[r][i] * b[r];
      for (size_t j = 0; j <= i; ++j) normal.gram[i][j] += rows[r][i] * rows[r][j];
    }
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < i; ++j) normal.gram[j][i] = normal.gram[i][j];
  return normal;
}

namespace {

// Solves least squares over the columns of the set; other coefficients are 0.
Vector solve_subset(const NormalEquations& normal, const std::vector<bool>& in_set) {
  std::vector<size_t> columns;
  for (size_t i = 0; i < in_set.size(); ++i)
    if (in_set[i]) columns.push_back(i);
  Matrix gram(columns.size(), Vector(columns.size()));
  Vector right(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    right[i] = normal.right[columns[i]];
    for (size_t j = 0; j < columns.size(); ++j) gram[i][j] = normal.gram[columns[i]][columns[j]];
  }
  const Vector solved = solve_positive(std::move(gram), std::move(right));
  Vector x(in_set.size());
  for (size_t i = 0; i < columns.size(); ++i) x[columns[i]] = solved[i];
  return x;
}

// Returns the column outside the set along which the error falls fastest, or in_set.size().
size_t steepest_column(const NormalEquations& normal, const Vector& x,
                       const std::vector<bool>& in_set, const std::vector<bool>& refused) {
  size_t best = in_set.size();
  double best_slope = 0;
  for (size_t i = 0; i < in_set.size(); ++i) {
    if (in_set[i] || refused[i] || normal.gram[i][i] <= 0) continue;
    double slope = normal.right[i];
    for (size_t j = 0; j < x.size(); ++j) slope -= normal.gram[i][j] * x[j];
    slope /= std::sqrt(normal.gram[i][i]);
    if (slope <= best_slope + 1e-10 * std::abs(normal.right[i])) continue;
    best = i;
    best_slope = slope;
  }
  return best;
}

}  // namespace

std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& rows,
                                               const std::vector<double>& b) {
  const NormalEquations normal = normal_equations(rows, b);
  const size_t n = normal.right.size();
  Vector x(n);
  std::vector<bool> in_set(n);
  std::vector<bool> refused(n);  // since x last changed: they were removed after adding
  for (size_t round = 0; round < 10 * n; ++round) {
    const size_t added = steepest_column(normal, x, in_set, refused);
    if (added == n) break;
    in_set[added] = true;
    const Vector before = x;
    for (;;) {
      const Vector target = solve_subset(normal, in_set);
      // Goes towards the target until a coefficient would become negative.
      double step = 1;
      for (size_t i = 0; i < n; ++i)
        if (in_set[i] && target[i] <= 0 && x[i] - target[i] > 0)
          step = std::min(step, x[i] / (x[i] - target[i]));
        else if (in_set[i] && target[i] <= 0)
          step = 0;
      for (size_t i = 0; i < n; ++i)
        if (in_set[i]) x[i] += step * (target[i] - x[i]);
      if (step >= 1) break;
      for (size_t i = 0; i < n; ++i)
        if (in_set[i] && target[i] <= 0 && x[i] <= 1e-12 * std::abs(target[i])) {
          in_set[i] = false;
          x[i] = 0;
        }
    }
    if (x == before)
      refused[added] = true;
    else
      refused.assign(n, false);
  }
  return x;
}

}  // namespace codl::profiler
