#include "profiler/fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kernels/model_features.h"
#include "kernels/model_term.h"

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

double value_of(const NamedFeatures& features, const std::string& name) {
  const kernels::ModelTerm term(name);
  for (const auto& [feature, value] : features)
    if (feature == term.feature) return term.of(value);
  return 0;
}

// Whether steps of a row with weights have them warm, too: else what cold ones take cannot be told
// from what weights take.
bool tells_cold_weights(const std::vector<Observation>& observations, size_t least_count) {
  size_t warm_count = 0;
  for (const Observation& observation : observations)
    if (value_of(observation.features, kernels::kColdWeights) == 0) ++warm_count;
  return warm_count >= least_count;
}

// Names of the features that enough observations have, in order of first appearance.
std::vector<std::string> feature_names(const std::vector<Observation>& observations) {
  // Features count in thousands or millions: what is less than a thousandth of one is what rounding
  // left of a difference, and would get a coefficient to match.
  constexpr double kLeastAmount = 1e-9;
  // A coefficient of two or three observations that barely have the feature is their disturbance,
  // and steps that have much of it would be predicted by that. Of few observations in all each
  // counts.
  constexpr size_t kManyObservations = 60;
  constexpr size_t kLeastCarriers = 3;
  std::vector<std::pair<std::string, size_t>> counts;
  for (const Observation& observation : observations)
    for (const auto& [name, value] : observation.features) {
      if (value < kLeastAmount) continue;
      const std::string& feature = name;  // what a lambda may capture
      const auto found = std::find_if(counts.begin(), counts.end(),
                                      [&](const auto& count) { return count.first == feature; });
      if (found == counts.end())
        counts.emplace_back(feature, 1);
      else
        ++found->second;
    }
  const bool tells_cold = tells_cold_weights(observations, kLeastCarriers);
  std::vector<std::string> names;
  for (auto& [name, count] : counts) {
    if (name.starts_with(kernels::kColdPrefix) && !tells_cold) continue;
    if (observations.size() < kManyObservations || count >= kLeastCarriers)
      names.push_back(std::move(name));
  }
  return names;
}

// Features over the time: a model is exact where the row times the coefficients is 1.
Vector relative_row(const NamedFeatures& features, const std::vector<std::string>& names,
                    double us) {
  Vector row;
  for (const std::string& name : names) row.push_back(value_of(features, name) / us);
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

double StepModel::predict_us(const NamedFeatures& features) const {
  double work_us = 0;
  for (const auto& [name, coefficient] : terms) work_us += coefficient * value_of(features, name);
  return kernels::over_floor_us(floor_us, work_us);
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

// 12 %: beyond the spread of repeated measurements on machines whose clock is not held.
constexpr double kScale = 0.12;
constexpr int kReweightings = 8;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < b.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Coefficients of columns, and the floor, in microseconds, over what they sum up to.
struct Solution {
  Vector coefficients;
  double floor_us = 0;

  // predicted / measured
  double ratio(const Vector& row, double us) const {
    return kernels::over_floor_us(floor_us / us, dot(row, coefficients));
  }
};

// What a reweighted fit minimises: Cauchy's loss of predicted / measured - 1.
double loss_of(const Solution& solution, const Matrix& rows, const Vector& us) {
  double loss = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double error = (solution.ratio(rows[i], us[i]) - 1) / kScale;
    loss += std::log1p(error * error);
  }
  return loss;
}

double weight_of(double ratio) {
  const double error = (ratio - 1) / kScale;
  return 1 / std::sqrt(1 + error * error);
}

Vector solve_weighted(const Matrix& rows, const Vector& weights) {
  Matrix weighted = rows;
  for (size_t i = 0; i < rows.size(); ++i)
    for (double& value : weighted[i]) value *= weights[i];
  return non_negative_least_squares(weighted, weights);
}

Solution solve_without_floor(const Matrix& rows, const Vector& us) {
  Vector weights(rows.size(), 1.0);
  Solution solution;
  for (int round = 0; round < kReweightings; ++round) {
    solution.coefficients = solve_weighted(rows, weights);
    for (size_t i = 0; i < rows.size(); ++i) weights[i] = weight_of(solution.ratio(rows[i], us[i]));
  }
  return solution;
}

// Gauss and Newton's method: over_floor_us() is its derivatives times floor and sum, so every round
// is a least squares problem with the floor as one more column.
Solution solve_with_floor(const Matrix& rows, const Vector& us) {
  constexpr int kSolves = 12;
  constexpr double kLeastStep = 0.04;
  constexpr double kLeastDecrease = 1e-3;  // of the loss
  // Few steps are far below the floor: the shortest, but for a twentieth, are at it.
  const double start_us = quantile(us, 0.05);
  // Those that are above tell what the work takes.
  Vector weights(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) weights[i] = us[i] > 1.1 * start_us ? 1 : 0.05;
  Solution solution = {solve_weighted(rows, weights), start_us};
  double loss = loss_of(solution, rows, us);
  for (int round = 0; round < kSolves; ++round) {
    Matrix slopes = rows;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double ratio = solution.ratio(rows[i], us[i]);
      const double work_share = std::pow(dot(rows[i], solution.coefficients) / ratio, 7);
      for (double& value : slopes[i]) value *= work_share;
      slopes[i].push_back(std::pow(solution.floor_us / us[i] / ratio, 7) / us[i]);
      weights[i] = weight_of(ratio);
    }
    Vector target = solve_weighted(slopes, weights);
    const double target_floor_us = target.back();
    target.pop_back();
    Solution next;
    double next_loss = loss;
    for (double step = 1; step > kLeastStep && next_loss >= loss; step /= 2) {
      next = solution;
      for (size_t j = 0; j < target.size(); ++j)
        next.coefficients[j] += step * (target[j] - next.coefficients[j]);
      next.floor_us += step * (target_floor_us - next.floor_us);
      next_loss = loss_of(next, rows, us);
    }
    if (next_loss >= loss) break;
    solution = std::move(next);
    const bool is_done = loss - next_loss < kLeastDecrease * loss;
    loss = next_loss;
    if (is_done) break;
  }
  return solution;
}

StepModel fit_terms(const std::vector<Observation>& observations,
                    const std::vector<std::string>& names, bool may_have_floor) {
  // Fewer observations do not tell a floor from features.
  constexpr size_t kLeastObservationsOfFloor = 60;
  constexpr double kLeastGainOfFloor = 0.02;  // of the loss
  Matrix rows;
  Vector us;
  for (const Observation& observation : observations) {
    rows.push_back(relative_row(observation.features, names, observation.us));
    us.push_back(observation.us);
  }
  Solution solution = solve_without_floor(rows, us);
  if (may_have_floor && observations.size() >= kLeastObservationsOfFloor) {
    Solution with_floor = solve_with_floor(rows, us);
    if (loss_of(with_floor, rows, us) < (1 - kLeastGainOfFloor) * loss_of(solution, rows, us))
      solution = std::move(with_floor);
  }
  StepModel model;
  model.floor_us = solution.floor_us;
  for (size_t j = 0; j < solution.coefficients.size(); ++j)
    if (solution.coefficients[j] > 0) model.terms.emplace_back(names[j], solution.coefficients[j]);
  return model;
}

// Names of the terms that are kLeastShare of the time or more, in the mean over observations or of
// their sum, in which what only the longest steps have counts.
std::vector<std::string> names_that_matter(const std::vector<Observation>& observations,
                                           const StepModel& model) {
  constexpr double kLeastShare = 0.0025;
  double all_us = 0;
  for (const Observation& observation : observations) all_us += observation.us;
  std::vector<std::string> names;
  for (const auto& [name, coefficient] : model.terms) {
    double shares = 0;
    double term_us = 0;
    for (const Observation& observation : observations) {
      const double us = coefficient * value_of(observation.features, name);
      shares += us / observation.us;
      term_us += us;
    }
    if (shares >= kLeastShare * static_cast<double>(observations.size()) ||
        term_us >= kLeastShare * all_us)
      names.push_back(name);
  }
  return names;
}

}  // namespace

StepModel fit_model(const std::vector<Observation>& observations) {
  return fit_terms(observations, feature_names(observations), false);
}

StepModel fit_bent_model(const std::vector<Observation>& observations, bool may_have_floor) {
  // Fewer observations, or values, do not tell a bend from noise.
  constexpr size_t kLeastObservations = 20;
  constexpr size_t kLeastValues = 6;
  constexpr double kLeastRise = 1.05;  // of the most over a bend
  // Nor a line that flattens, which any path that the features do not tell apart looks like.
  constexpr size_t kLeastObservationsToFlatten = 140;
  // Of so many, more bends are told (DECISIONS.md, 24 Nov 2026).
  constexpr size_t kObservationsOfMoreBends = 300;
  constexpr size_t kObservationsOfManyBends = 600;
  const std::vector<double> shares = observations.size() < kObservationsOfMoreBends
                                         ? std::vector<double>{0.5, 0.8}
                                     : observations.size() < kObservationsOfManyBends
                                         ? std::vector<double>{0.2, 0.5, 0.8, 0.95}
                                         : std::vector<double>{0.1, 0.3, 0.5, 0.7, 0.85, 0.95};
  std::vector<std::string> names = feature_names(observations);
  if (observations.size() >= kLeastObservations)
    for (const std::string& feature : feature_names(observations)) {
      // What is counted beyond a level is bent already.
      if (feature.find("_over_") != std::string::npos) continue;
      Vector values;
      for (const Observation& observation : observations)
        if (const double value = value_of(observation.features, feature); value > 0)
          values.push_back(value);
      std::sort(values.begin(), values.end());
      Vector distinct = values;
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      if (distinct.size() < kLeastValues) continue;
      for (const double share : shares) {
        const double limit = quantile(values, share);
        // What is left above it would be rounding, with a coefficient to match.
        if (values.back() < kLeastRise * limit) continue;
        char text[32];
        std::snprintf(text, sizeof(text), ">%.3g", limit);
        names.push_back(feature + text);
        if (share > 0.5 || observations.size() < kLeastObservationsToFlatten) continue;
        text[0] = '<';
        names.push_back(feature + text);
      }
    }
  const StepModel model = fit_terms(observations, names, may_have_floor);
  if (observations.size() < kObservationsOfMoreBends) return model;
  return fit_terms(observations, names_that_matter(observations, model), may_have_floor);
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

std::vector<double> predict_held_out(const std::vector<Observation>& observations,
                                     const std::vector<size_t>& folds, size_t fold_count,
                                     bool may_have_floor) {
  Vector predictions(observations.size());
  for (size_t fold = 0; fold < fold_count; ++fold) {
    std::vector<Observation> seen;
    for (size_t i = 0; i < observations.size(); ++i)
      if (folds[i] != fold) seen.push_back(observations[i]);
    const StepModel model = fit_bent_model(seen, may_have_floor);
    for (size_t i = 0; i < observations.size(); ++i)
      if (folds[i] == fold) predictions[i] = model.predict_us(observations[i].features);
  }
  return predictions;
}

Residuals cross_validate(const std::vector<Observation>& observations,
                         const std::vector<size_t>& folds, size_t fold_count, bool may_have_floor) {
  Vector errors = predict_held_out(observations, folds, fold_count, may_have_floor);
  for (size_t i = 0; i < errors.size(); ++i) errors[i] = 100 * (errors[i] / observations[i].us - 1);
  return residuals_of(std::move(errors));
}

double leverage(const std::vector<Observation>& observations, const NamedFeatures& features,
                double us) {
  std::vector<Observation> all = observations;
  all.push_back({features, us});
  const std::vector<std::string> names = feature_names(all);
  Matrix rows;
  for (const Observation& observation : all)
    rows.push_back(relative_row(observation.features, names, observation.us));
  NormalEquations normal = normal_equations(rows, Vector(rows.size()));
  const Vector& row = rows.back();
  const Vector solved = solve_positive(std::move(normal.gram), row);
  double value = 0;
  for (size_t i = 0; i < row.size(); ++i) value += row[i] * solved[i];
  return std::clamp(value, 0.0, 1.0);
}

}  // namespace codl::profiler
