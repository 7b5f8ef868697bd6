// Fits shares of terms by non-negative least squares on relative errors.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/cost/calibration.h"

namespace codl::profiler {

using compiler::Shares;
using compiler::TermTimes;

// Holds the part of a measurement that a fit uses.
struct Observation {
  TermTimes times;
  double us = 0;  // more than 0
  double weight = 1;
};

// Describes predicted / measured - 1, in percent.
struct Residuals {
  size_t count = 0;
  double median_absolute = 0;
  double within_10 = 0;  // share of the observations within +-10 %, in percent
  double p10 = 0;        // tenth percentile of the signed errors
  double p90 = 0;
};

// Returns the x >= 0 for which the rows times x are nearest to 1; row i counts `weights[i]` times.
// It minimises the Cauchy loss of the difference (scale 12 %) by reweighting, so that disturbed
// rows have little influence. `pulled_to`, if not empty, has the value that each column of x is
// drawn to, with the weight `pull` of one row; a negative value draws it to nothing.
std::vector<double> nearest_to_one(const std::vector<std::vector<double>>& rows,
                                   const std::vector<double>& weights,
                                   const std::vector<double>& pulled_to = {}, double pull = 0);

// Limits and prior knowledge of a fit.
struct FitOptions {
  // These are the shares of the kernel's family. Few observations leave many shares open. Such
  // shares are drawn to the family's, times the factor by which the kernel is faster or slower.
  const Shares* family = nullptr;
  int most_joint_shares = 0;
};

// Returns the shares for which predicted times are nearest to the measured ones, by
// nearest_to_one() of terms over times; longer steps count a little more. Terms that no fit can
// tell apart, or that are less than 0.25 % of every time, get no share. Joint shares are added one
// after the other, each the one that reduces the error most, while it falls by 1 % or more.
// `observations` may be empty: then shares are 0.
Shares fit_shares(const std::vector<Observation>& observations, const FitOptions& options = {});

// Returns the value below which a `share`, 0 to 1, of the values lies, interpolated between two
// values. Needs at least one value.
double quantile(std::vector<double> values, double share);

// Predicts each observation by shares of a fit that has seen neither it nor the others of its fold.
// Observation i belongs to fold folds[i], from 0 to fold_count - 1.
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
