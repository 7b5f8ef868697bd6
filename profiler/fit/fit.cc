#include "profiler/fit/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "profiler/fit/least_squares.h"
#include "profiler/fit/tiles.h"

namespace codl::profiler {

namespace {

using compiler::JointShare;
using compiler::kTermCount;
using compiler::Term;
using Terms = std::vector<int>;  // indices

// The terms and pairs of terms that a fit gives shares to.
struct Basis {
  Terms terms;
  std::vector<JointShare> joints;
};

// True if some steps of the kernel have warm weights. Otherwise the cost of cold ones cannot be
// told from the cost of weights.
bool shows_cold_weights(const std::vector<Observation>& observations, size_t least_count) {
  size_t warm_count = 0;
  for (const Observation& observation : observations)
    if (observation.times[Term::Weights] > 0 && observation.times[Term::Cold] == 0) ++warm_count;
  return warm_count >= least_count;
}

// Returns the terms that enough observations have. Of terms that say the same, the first gets the
// share: a count that is equal in all steps says nothing about steps that have more of it.
Terms observed_terms(const std::vector<Observation>& observations) {
  // Smaller values are rounding errors of a difference, and would get a huge share.
  constexpr double kMinUs = 1e-9;
  // A share from two or three observations that barely have the term would be noise, but steps with
  // much of it would be predicted by it. If there are few observations in all, each counts.
  constexpr size_t kManyObservations = 60;
  constexpr size_t kMinCarriers = 3;
  const size_t least_count = observations.size() < kManyObservations ? 1 : kMinCarriers;
  Terms terms;
  const auto add_if_observed = [&](Term term) {
    size_t count = 0;
    for (const Observation& observation : observations)
      if (observation.times[term] >= kMinUs) ++count;
    const bool is_observed = term != Term::Cold || shows_cold_weights(observations, kMinCarriers);
    if (is_observed && count >= least_count) terms.push_back(static_cast<int>(term));
  };
  add_if_observed(Term::Step);
  for (int term = 0; term < kTermCount; ++term)
    if (term != static_cast<int>(Term::Step)) add_if_observed(static_cast<Term>(term));
  return terms;
}

// Returns the terms over the time: shares are exact if the row times the shares is 1.
Vector relative_row(const TermTimes& times, const Basis& basis, double us) {
  Vector row;
  for (const int term : basis.terms) row.push_back(times.us[term] / us);
  for (const JointShare& joint : basis.joints) row.push_back(joint_us(times, joint) / us);
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

namespace {

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < b.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// 12 % is more than the spread of repeated measurements on machines with a varying clock.
constexpr double kErrorScale = 0.12;

Matrix kernels_of(const std::vector<Observation>& observations, const Basis& basis) {
  Matrix rows;
  for (const Observation& observation : observations)
    rows.push_back(relative_row(observation.times, basis, observation.us));
  return rows;
}

// Errors of long steps change a network's time more, so they count more. A higher power would leave
// the many short steps to chance.
Vector weights_of(const std::vector<Observation>& observations) {
  constexpr double kPower = 0.2;
  Vector weights;
  for (const Observation& observation : observations)
    weights.push_back(observation.weight * std::pow(observation.us, kPower));
  return weights;
}

// Returns the family's shares, times the factor by which they fit best.
Vector scaled_family(const std::vector<Observation>& observations, const Basis& basis,
                     const Shares& family) {
  Matrix rows;
  for (const Observation& observation : observations)
    rows.push_back({weigh(observation.times, family) / observation.us});
  const Vector factor = nearest_to_one(rows, weights_of(observations));
  if (factor.empty() || factor[0] <= 0) return {};
  Vector scaled;
  for (const int term : basis.terms) scaled.push_back(factor[0] * family.of[term]);
  for (size_t i = 0; i < basis.joints.size(); ++i) scaled.push_back(-1);
  return scaled;
}

Shares fit_basis(const std::vector<Observation>& observations, const Basis& basis,
                 const Shares* family) {
  // On four machines, 8 to 20 samples of a kernel predict its other steps equally well with any
  // pull up to a tenth of a sample, and worse with none or with a whole one. A small pull keeps an
  // exact fit exact.
  constexpr double kSamplesOfFamily = 0.02;
  const Vector pulled_to = family ? scaled_family(observations, basis, *family) : Vector();
  const Vector solved = nearest_to_one(kernels_of(observations, basis), weights_of(observations),
                                       pulled_to, kSamplesOfFamily);
  Shares shares;
  if (solved.empty()) return shares;
  for (size_t i = 0; i < basis.terms.size(); ++i) shares.of[basis.terms[i]] = solved[i];
  for (size_t i = 0; i < basis.joints.size(); ++i) {
    const double share = solved[basis.terms.size() + i];
    if (share <= 0) continue;
    JointShare& joint = shares.joint[shares.joint_count++];
    joint = basis.joints[i];
    joint.share = share;
  }
  return shares;
}

// Returns the terms that are kMinPart or more of some observation's predicted time.
Basis what_matters(const std::vector<Observation>& observations, const Basis& basis,
                   const Shares& shares) {
  constexpr double kMinPart = 0.0025;
  bool matters[kTermCount] = {};
  bool joint_matters[compiler::kMaxJointShares] = {};
  for (const Observation& observation : observations) {
    const double least_us = kMinPart * weigh(observation.times, shares);
    for (int term = 0; term < kTermCount; ++term)
      if (shares.of[term] > 0 && observation.times.us[term] * shares.of[term] >= least_us)
        matters[term] = true;
    for (int i = 0; i < shares.joint_count; ++i)
      if (joint_us(observation.times, shares.joint[i]) * shares.joint[i].share >= least_us)
        joint_matters[i] = true;
  }
  Basis mattering;
  for (const int term : basis.terms)
    if (matters[term]) mattering.terms.push_back(term);
  for (int i = 0; i < shares.joint_count; ++i)
    if (joint_matters[i]) mattering.joints.push_back(shares.joint[i]);
  return mattering;
}

// Returns the joint shares that the observations could determine: terms must be part of the time,
// and thresholds and factors have observations on both sides.
std::vector<JointShare> joint_candidates(const std::vector<Observation>& observations,
                                         const Terms& terms) {
  constexpr double kMinPart = 0.02;
  constexpr double kThresholds[] = {0.3, 0.6, 0.8, 0.9, 0.97};
  constexpr double kFactors[] = {0.15, 0.35, 0.5, 0.65, 0.85};
  constexpr int kDigits = 3;  // profiles have these
  const size_t least_count = std::max<size_t>(10, observations.size() / 50);
  Terms parts;
  for (const int term : terms) {
    size_t count = 0;
    for (const Observation& observation : observations)
      if (observation.times.us[term] > kMinPart * observation.us) ++count;
    if (term != static_cast<int>(Term::Step) && count >= least_count) parts.push_back(term);
  }
  std::vector<JointShare> candidates;
  const auto add = [&](int term, Term other, const Vector& values,
                       std::span<const double> quantiles) {
    for (const double at : quantiles) {
      if (std::min(at, 1 - at) * static_cast<double>(values.size()) <
          static_cast<double>(least_count))
        continue;
      const double factor = rounded(quantile(values, at), kDigits);
      const bool is_new = candidates.empty() || candidates.back().factor != factor ||
                          candidates.back().other != other ||
                          candidates.back().term != static_cast<Term>(term);
      if (is_new && factor > 0) candidates.push_back({static_cast<Term>(term), other, factor, 0});
    }
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    Vector times;
    for (const Observation& observation : observations)
      if (observation.times.us[parts[i]] > 0) times.push_back(observation.times.us[parts[i]]);
    add(parts[i], Term::Step, times, kThresholds);
    for (size_t j = i + 1; j < parts.size(); ++j) {
      Vector ratios;
      for (const Observation& observation : observations)
        if (observation.times.us[parts[i]] > 0 && observation.times.us[parts[j]] > 0)
          ratios.push_back(observation.times.us[parts[i]] / observation.times.us[parts[j]]);
      add(parts[i], static_cast<Term>(parts[j]), ratios, kFactors);
    }
  }
  return candidates;
}

// Holds the state of a fit: the error of each observation, and the weight that follows from it.
struct Misfit {
  Vector errors;  // predicted / measured - 1
  Vector weights;
  double loss = 0;
};

Misfit misfit_of(const std::vector<Observation>& observations, const Shares& shares) {
  Misfit misfit;
  misfit.weights = weights_of(observations);
  for (size_t i = 0; i < observations.size(); ++i) {
    const double error = weigh(observations[i].times, shares) / observations[i].us - 1;
    const double scaled = error / kErrorScale;
    misfit.errors.push_back(error);
    misfit.loss += misfit.weights[i] * std::log1p(scaled * scaled);
    misfit.weights[i] /= 1 + scaled * scaled;
  }
  return misfit;
}

// Returns those along which the error falls fastest, the fastest first.
std::vector<JointShare> steepest(const std::vector<Observation>& observations, const Misfit& misfit,
                                 const std::vector<JointShare>& candidates, size_t most) {
  std::vector<std::pair<double, size_t>> slopes;
  for (size_t c = 0; c < candidates.size(); ++c) {
    double slope = 0;
    double square = 0;
    for (size_t i = 0; i < observations.size(); ++i) {
      const double value = joint_us(observations[i].times, candidates[c]) / observations[i].us;
      slope -= misfit.weights[i] * misfit.errors[i] * value;
      square += value * value;
    }
    if (slope > 0) slopes.emplace_back(-slope / std::sqrt(square), c);
  }
  std::sort(slopes.begin(), slopes.end());
  std::vector<JointShare> found;
  for (size_t i = 0; i < std::min(most, slopes.size()); ++i)
    found.push_back(candidates[slopes[i].second]);
  return found;
}

// Returns the candidate that makes the errors, with their present weights, least.
const JointShare* best_of(const std::vector<Observation>& observations, const Basis& basis,
                          const Misfit& misfit, const std::vector<JointShare>& candidates) {
  const JointShare* best = nullptr;
  double best_square = std::numeric_limits<double>::infinity();
  Basis trial = basis;
  trial.joints.emplace_back();
  for (const JointShare& candidate : candidates) {
    trial.joints.back() = candidate;
    Matrix rows = kernels_of(observations, trial);
    Vector right;
    for (size_t i = 0; i < rows.size(); ++i) {
      right.push_back(std::sqrt(misfit.weights[i]));
      for (double& value : rows[i]) value *= right[i];
    }
    const Vector x = non_negative_least_squares(rows, right);
    double square = 0;
    for (size_t i = 0; i < rows.size(); ++i) square += std::pow(dot(rows[i], x) - right[i], 2);
    if (square >= best_square) continue;
    best = &candidate;
    best_square = square;
  }
  return best;
}

// Adds joint shares to the basis of a fit.
void add_joint_shares(const std::vector<Observation>& observations, const FitOptions& options,
                      Shares shares, Basis* basis) {
  // With fewer it would be chance.
  constexpr size_t kManyObservations = 60;
  constexpr size_t kTried = 8;
  constexpr double kMinFall = 0.01;
  if (observations.size() < kManyObservations) return;
  const std::vector<JointShare> candidates = joint_candidates(observations, basis->terms);
  Misfit misfit = misfit_of(observations, shares);
  for (int i = 0; i < options.most_joint_shares; ++i) {
    const std::vector<JointShare> tried = steepest(observations, misfit, candidates, kTried);
    const JointShare* best = best_of(observations, *basis, misfit, tried);
    if (!best) return;
    basis->joints.push_back(*best);
    shares = fit_basis(observations, *basis, options.family);
    Misfit next = misfit_of(observations, shares);
    if (next.loss > (1 - kMinFall) * misfit.loss) {
      basis->joints.pop_back();
      return;
    }
    misfit = std::move(next);
  }
}

}  // namespace

std::vector<double> nearest_to_one(const std::vector<std::vector<double>>& rows,
                                   const std::vector<double>& weights,
                                   const std::vector<double>& pulled_to, double pull) {
  constexpr int kReweightings = 8;
  Vector x;
  Vector square_roots(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) square_roots[i] = std::sqrt(weights[i]);
  // Adds a row for each column, with the columns' mean length (of squares) and the mean weight.
  Matrix pulling;
  Vector targets;
  for (size_t j = 0; j < pulled_to.size(); ++j) {
    if (pulled_to[j] < 0) continue;
    double square = 0;
    for (size_t i = 0; i < rows.size(); ++i) square += weights[i] * rows[i][j] * rows[i][j];
    pulling.emplace_back(pulled_to.size());
    pulling.back()[j] = std::sqrt(pull * square / static_cast<double>(rows.size()));
    targets.push_back(pulling.back()[j] * pulled_to[j]);
  }
  for (int round = 0; round < kReweightings; ++round) {
    Matrix weighted = rows;
    Vector right = square_roots;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (round > 0) right[i] /= std::hypot(1, (dot(rows[i], x) - 1) / kErrorScale);
      for (double& value : weighted[i]) value *= right[i];
    }
    weighted.insert(weighted.end(), pulling.begin(), pulling.end());
    right.insert(right.end(), targets.begin(), targets.end());
    x = non_negative_least_squares(weighted, right);
  }
  return x;
}

Shares fit_shares(const std::vector<Observation>& observations, const FitOptions& options) {
  Basis basis = {observed_terms(observations), {}};
  Shares shares = fit_basis(observations, basis, options.family);
  if (options.most_joint_shares > 0) {
    add_joint_shares(observations, options, shares, &basis);
    shares = fit_basis(observations, basis, options.family);
  }
  return fit_basis(observations, what_matters(observations, basis, shares), options.family);
}

std::vector<double> predict_held_out(const std::vector<Observation>& observations,
                                     const std::vector<size_t>& folds, size_t fold_count,
                                     const FitOptions& options) {
  Vector predictions(observations.size());
  for (size_t fold = 0; fold < fold_count; ++fold) {
    std::vector<Observation> seen;
    for (size_t i = 0; i < observations.size(); ++i)
      if (folds[i] != fold) seen.push_back(observations[i]);
    const Shares shares = fit_shares(seen, options);
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
  Basis all_terms = {Terms(kTermCount), {}};
  std::iota(all_terms.terms.begin(), all_terms.terms.end(), 0);
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
