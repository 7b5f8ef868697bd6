#include "profiler/fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

struct NormalEquations {
  Matrix gram;   // A^T A
  Vector right;  // A^T b
};

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

// Least squares over the columns of the set; 0 elsewhere.
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

// The column outside the set along which the error falls fastest, or in_set.size().
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

using compiler::kTermCount;
using compiler::Term;
using Terms = std::vector<int>;  // indices

// Whether steps of a row with weights have them warm, too: else what cold ones take cannot be told
// from what weights take.
bool tells_cold_weights(const std::vector<Observation>& observations, size_t least_count) {
  size_t warm_count = 0;
  for (const Observation& observation : observations)
    if (observation.times[Term::Weights] > 0 && observation.times[Term::Cold] == 0) ++warm_count;
  return warm_count >= least_count;
}

// Those that enough observations have. Of terms that say the same the first one gets the share: a
// count that all steps have alike says nothing of steps that have more of it.
Terms told_terms(const std::vector<Observation>& observations) {
  // What is less is what rounding left of a difference, and would get a share to match.
  constexpr double kLeastUs = 1e-9;
  // A share of two or three observations that barely have the term is their disturbance, and steps
  // that have much of it would be predicted by that. Of few observations in all each counts.
  constexpr size_t kManyObservations = 60;
  constexpr size_t kLeastCarriers = 3;
  const size_t least_count = observations.size() < kManyObservations ? 1 : kLeastCarriers;
  Terms terms;
  const auto add_if_told = [&](Term term) {
    size_t count = 0;
    for (const Observation& observation : observations)
      if (observation.times[term] >= kLeastUs) ++count;
    const bool is_told = term != Term::Cold || tells_cold_weights(observations, kLeastCarriers);
    if (is_told && count >= least_count) terms.push_back(static_cast<int>(term));
  };
  add_if_told(Term::Step);
  for (int term = 0; term < kTermCount; ++term)
    if (term != static_cast<int>(Term::Step)) add_if_told(static_cast<Term>(term));
  return terms;
}

// Terms over the time: shares are exact where the row times them is 1.
Vector relative_row(const TermTimes& times, const Terms& terms, double us) {
  Vector row;
  for (const int term : terms) row.push_back(times.us[term] / us);
  return row;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& rows,
                                               const std::vector<double>& b) {
  const NormalEquations normal = normal_equations(rows, b);
  const size_t n = normal.right.size();
  Vector x(n);
  std::vector<bool> in_set(n);
  std::vector<bool> refused(n);  // since x last changed: adding them took them out again
  for (size_t round = 0; round < 10 * n; ++round) {
    const size_t added = steepest_column(normal, x, in_set, refused);
    if (added == n) break;
    in_set[added] = true;
    const Vector before = x;
    for (;;) {
      const Vector target = solve_subset(normal, in_set);
      // As far towards the target as no coefficient turns negative.
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

namespace {

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < b.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Shares fit_terms(const std::vector<Observation>& observations, const Terms& terms) {
  Matrix rows;
  Vector weights;
  for (const Observation& observation : observations) {
    rows.push_back(relative_row(observation.times, terms, observation.us));
    weights.push_back(observation.weight);
  }
  const Vector solved = nearest_to_one(rows, weights);
  Shares shares;
  for (size_t i = 0; i < solved.size(); ++i) shares.of[terms[i]] = solved[i];
  return shares;
}

// Those that are kLeastPart or more of some observation's predicted time.
Terms terms_that_matter(const std::vector<Observation>& observations, const Terms& terms,
                        const Shares& shares) {
  constexpr double kLeastPart = 0.0025;
  bool matters[kTermCount] = {};
  for (const Observation& observation : observations) {
    const double us = weigh(observation.times, shares);
    for (int term = 0; term < kTermCount; ++term)
      if (shares.of[term] > 0 && observation.times.us[term] * shares.of[term] >= kLeastPart * us)
        matters[term] = true;
  }
  Terms mattering;
  for (const int term : terms)
    if (matters[term]) mattering.push_back(term);
  return mattering;
}

}  // namespace

std::vector<double> nearest_to_one(const std::vector<std::vector<double>>& rows,
                                   const std::vector<double>& weights) {
  // 12 %: beyond the spread of repeated measurements on machines whose clock is not held.
  constexpr double kScale = 0.12;
  constexpr int kReweightings = 8;
  Vector x;
  Vector square_roots(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) square_roots[i] = std::sqrt(weights[i]);
  for (int round = 0; round < kReweightings; ++round) {
    Matrix weighted = rows;
    Vector right = square_roots;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (round > 0) right[i] /= std::hypot(1, (dot(rows[i], x) - 1) / kScale);
      for (double& value : weighted[i]) value *= right[i];
    }
    x = non_negative_least_squares(weighted, right);
  }
  return x;
}

Shares fit_shares(const std::vector<Observation>& observations) {
  const Terms terms = told_terms(observations);
  const Shares shares = fit_terms(observations, terms);
  return fit_terms(observations, terms_that_matter(observations, terms, shares));
}

std::vector<double> predict_held_out(const std::vector<Observation>& observations,
                                     const std::vector<size_t>& folds, size_t fold_count) {
  Vector predictions(observations.size());
  for (size_t fold = 0; fold < fold_count; ++fold) {
    std::vector<Observation> seen;
    for (size_t i = 0; i < observations.size(); ++i)
      if (folds[i] != fold) seen.push_back(observations[i]);
    const Shares shares = fit_shares(seen);
    for (size_t i = 0; i < observations.size(); ++i)
      if (folds[i] == fold) predictions[i] = weigh(observations[i].times, shares);
  }
  return predictions;
}

std::vector<double> errors_of(const std::vector<Observation>& observations,
                              const std::vector<double>& predictions) {
  Vector errors;
  for (size_t i = 0; i < observations.size(); ++i)
    errors.push_back(100 * (predictions[i] / observations[i].us - 1));
  return errors;
}

Residuals residuals_of(std::vector<double> errors_percent) {
  Residuals residuals;
  residuals.count = errors_percent.size();
  if (errors_percent.empty()) return residuals;
  residuals.p10 = quantile(errors_percent, 0.1);
  residuals.p90 = quantile(errors_percent, 0.9);
  size_t within = 0;
  for (double& error : errors_percent) {
    error = std::abs(error);
    if (error <= 10) ++within;
  }
  residuals.within_10 = 100.0 * static_cast<double>(within) / static_cast<double>(residuals.count);
  residuals.median_absolute = quantile(errors_percent, 0.5);
  return residuals;
}

double leverage(const std::vector<Observation>& observations, const TermTimes& times, double us) {
  Terms all_terms(kTermCount);
  std::iota(all_terms.begin(), all_terms.end(), 0);
  Matrix rows;
  for (const Observation& observation : observations)
    rows.push_back(relative_row(observation.times, all_terms, observation.us));
  rows.push_back(relative_row(times, all_terms, us));
  NormalEquations normal = normal_equations(rows, Vector(rows.size()));
  const Vector& row = rows.back();
  const Vector solved = solve_positive(std::move(normal.gram), row);
  return std::clamp(dot(row, solved), 0.0, 1.0);
}

}  // namespace codl::profiler
