// Latency models: non-negative least squares on relative errors.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace codl::profiler {

using NamedFeatures = std::vector<std::pair<std::string, double>>;

// What a fit sees of a measurement.
struct Observation {
  NamedFeatures features;
  double us = 0;  // more than 0
};

// us = sum of coefficient * feature, over a floor (kernels::over_floor_us); none is negative.
struct StepModel {
  NamedFeatures terms;  // feature and microseconds per unit; terms of 0 are left out
  double floor_us = 0;
  double predict_us(const NamedFeatures& features) const;
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

// Minimises the Cauchy loss of predicted / measured - 1 (scale 12 %) by reweighting: disturbed
// measurements do not turn the model. `observations` may be empty: a model without terms.
StepModel fit_model(const std::vector<Observation>& observations);

// Where a `share`, 0 to 1, of the values is below; between two values in proportion. Of one value
// or more.
double quantile(std::vector<double> values, double share);

// The same with more for what a feature has above the median, and above four fifths, of what the
// observations have of it (kernels/model_term.h), and of many observations for what it has below
// the median: caches, and groups that fill a device, bend the line. `may_have_floor`: of steps that
// are launched one after the other; the model has a floor if it does clearly better with one.
StepModel fit_bent_model(const std::vector<Observation>& observations, bool may_have_floor);

// Each observation predicted by a model that has not seen it nor its `fold_count`-th of the rest:
// observation i belongs to fold folds[i]. Those of one shape must be in one fold.
// Returns the predictions.
std::vector<double> predict_held_out(const std::vector<Observation>& observations,
                                     const std::vector<size_t>& folds, size_t fold_count,
                                     bool may_have_floor);

// Of predict_held_out().
Residuals cross_validate(const std::vector<Observation>& observations,
                         const std::vector<size_t>& folds, size_t fold_count, bool may_have_floor);

Residuals residuals_of(std::vector<double> errors_percent);

// What a further observation with these features would tell: its leverage, 0 to 1, in the fit of
// the ones there are. `us` is a guess of its time.
double leverage(const std::vector<Observation>& observations, const NamedFeatures& features,
                double us);

}  // namespace codl::profiler
