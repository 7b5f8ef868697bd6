// Shares of terms: non-negative least squares on relative errors.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/cost/calibration.h"

namespace codl::profiler {

using compiler::Shares;
using compiler::TermTimes;

// What a fit sees of a measurement.
struct Observation {
  TermTimes times;
  double us = 0;  // more than 0
  double weight = 1;
};

// predicted / measured - 1, in percent.
struct Residuals {
  size_t count = 0;
  double median_absolute = 0;
  double within_10 = 0;  // share of the observations within +-10 %, in percent
  double p10 = 0;        // of the signed errors: nine tenths lie above
  double p90 = 0;
};

// Solves the symmetric positive definite system by Cholesky's method. A pivot that is nothing but
// rounding gives 0: the column depends on those before.
std::vector<double> solve_positive(std::vector<std::vector<double>> a, std::vector<double> b);

// The least x >= 0 of |A x - b|^2 after Lawson and Hanson, "Solving Least Squares Problems", 1974,
// chapter 23. `rows` of A have equal lengths.
std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& rows,
                                               const std::vector<double>& b);

// The x >= 0 by which the rows times x are nearest to 1, each row counting `weights[i]` times.
// Minimises the Cauchy loss of the difference (scale 12 %) by reweighting: rows that are disturbed
// do not turn it.
std::vector<double> nearest_to_one(const std::vector<std::vector<double>>& rows,
                                   const std::vector<double>& weights);

// The shares by which the times are nearest, by nearest_to_one() of terms over times. Without terms
// that no fit can tell from others, or that are less than 0.25 % of every time. `observations` may
// be empty: shares of 0.
Shares fit_shares(const std::vector<Observation>& observations);

// Where a `share`, 0 to 1, of the values is below; between two values in proportion. Of one value
// or more.
double quantile(std::vector<double> values, double share);

// Each observation predicted by shares of a fit that has not seen it nor the others of its fold:
// observation i belongs to fold folds[i], from 0 to fold_count - 1. Returns the predictions.
std::vector<double> predict_held_out(const std::vector<Observation>& observations,
                                     const std::vector<size_t>& folds, size_t fold_count);

// Of predictions of the observations, in percent.
std::vector<double> errors_of(const std::vector<Observation>& observations,
                              const std::vector<double>& predictions);

Residuals residuals_of(std::vector<double> errors_percent);

// What a further observation of these times would tell: its leverage, 0 to 1, in the fit of the
// ones there are. `us` is a guess of its time.
double leverage(const std::vector<Observation>& observations, const TermTimes& times, double us);

}  // namespace codl::profiler
