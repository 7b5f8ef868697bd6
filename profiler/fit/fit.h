// Shares of terms: non-negative least squares on relative errors.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/cost/calibration.h"

namespace codl::profiler {

using compiler::Shares;
using compiler::TermTimes;

// The part of a measurement that a fit uses.
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

// The x >= 0 by which the rows times x are nearest to 1, each row counting `weights[i]` times.
// Minimises the Cauchy loss of the difference (scale 12 %) by reweighting: rows that are disturbed
// do not turn it. `pulled_to`, if not empty: of each column what x is drawn to, with the weight
// `pull` of one row; less than 0: to nothing.
std::vector<double> nearest_to_one(const std::vector<std::vector<double>>& rows,
                                   const std::vector<double>& weights,
                                   const std::vector<double>& pulled_to = {}, double pull = 0);

// Limits and prior knowledge of a fit.
struct FitOptions {
  // Shares of the kernel's family. Few observations leave many shares open. These are drawn to the
  // family's, times the factor by which the kernel is faster or slower.
  const Shares* family = nullptr;
  int most_joint_shares = 0;
};

// The shares by which the times are nearest, by nearest_to_one() of terms over times, longer steps
// counting a little more. Without terms that no fit can tell from others, or that are less than
// 0.25 % of every time. Joint shares are added one after the other, each the one that makes the
// error least, while it falls by 1 % or more. `observations` may be empty: shares of 0.
Shares fit_shares(const std::vector<Observation>& observations, const FitOptions& options = {});

// Where a `share`, 0 to 1, of the values is below; between two values in proportion. Of one value
// or more.
double quantile(std::vector<double> values, double share);

// Each observation predicted by shares of a fit that has not seen it nor the others of its fold:
// observation i belongs to fold folds[i], from 0 to fold_count - 1. Returns the predictions.
std::vector<double> predict_held_out(const std::vector<Observation>& observations,
                                     const std::vector<size_t>& folds, size_t fold_count,
                                     const FitOptions& options = {});

// Returns the relative errors of the predictions, in percent.
std::vector<double> errors_of(const std::vector<Observation>& observations,
                              const std::vector<double>& predictions);

Residuals residuals_of(std::vector<double> errors_percent);

// Returns how much a further observation of these times would tell: its leverage, 0 to 1, in the
// fit of the present ones. `us` is a guess of its time.
double leverage(const std::vector<Observation>& observations, const TermTimes& times, double us);

}  // namespace codl::profiler
