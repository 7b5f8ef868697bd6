#include "profiler/fit/fit.h"

#include <algorithm>
#include <cmath>

#include "profiler/fit/least_squares.h"
#include "test/support/catch.h"

namespace codl::profiler {
namespace {

using compiler::Term;

// Returns times of a step with so many microseconds of arithmetic, reading and weights.
TermTimes times_with(double compute_us, double read_us, double weights_us = 0) {
  TermTimes times;
  times[Term::Compute] = compute_us;
  times[Term::Read] = read_us;
  times[Term::Weights] = weights_us;
  times[Term::Step] = 1;
  return times;
}

// Steps take 3 us, 1.5 times their arithmetic and half of their reading.
std::vector<Observation> exact_observations() {
  std::vector<Observation> observations;
  for (int i = 1; i <= 12; ++i) {
    const double compute_us = 4 * i;
    const double read_us = 20 * (i % 4);
    observations.push_back({times_with(compute_us, read_us), 3 + 1.5 * compute_us + 0.5 * read_us});
  }
  return observations;
}

TEST_CASE("least squares without a bound that binds are least squares") {
  // x + y = 3, x - y = 1
  const std::vector<double> x = non_negative_least_squares({{1, 1}, {1, -1}}, {3, 1});
  CHECK(x[0] == Approx(2));
  CHECK(x[1] == Approx(1));
}

TEST_CASE("no coefficient is negative, and the rest make the best of it") {
  // The free solution is (2, -1); with y = 0 the best x for x = 2, x = 1 is 1.5.
  const std::vector<double> x = non_negative_least_squares({{1, 0}, {1, 1}}, {2, 1});
  CHECK(x[0] == Approx(1.5));
  CHECK(x[1] == 0);
}

TEST_CASE("columns that say the same do not stop the solver") {
  const std::vector<double> x = non_negative_least_squares({{1, 1}, {2, 2}, {3, 3}}, {2, 4, 6});
  CHECK(x[0] + x[1] == Approx(2));
  CHECK(non_negative_least_squares({}, {}).empty());
}

TEST_CASE("a fit finds the shares behind exact measurements") {
  const Shares shares = fit_shares(exact_observations());
  CHECK(shares[Term::Step] == Approx(3));
  CHECK(shares[Term::Compute] == Approx(1.5));
  CHECK(shares[Term::Read] == Approx(0.5));
  CHECK(shares[Term::Weights] == 0);
  CHECK(weigh(times_with(10, 4), shares) == Approx(20));
  CHECK(weigh(times_with(10, 4), fit_shares({})) == 0);
}

TEST_CASE("what cold weights take is told only where some are warm") {
  // The steps take 3 us, twice the weights' time, and 5 times that of cold ones.
  const auto observations = [](bool has_warm) {
    std::vector<Observation> all;
    for (int i = 1; i <= 80; ++i) {
      const bool is_warm = has_warm && i % 4 == 0;
      TermTimes times = times_with(0, 0, i);
      times[Term::Cold] = is_warm ? 0 : i;
      all.push_back({times, 3.0 + (is_warm ? 2 : 7) * i});
    }
    return all;
  };
  const Shares told = fit_shares(observations(true));
  CHECK(told[Term::Weights] == Approx(2));
  CHECK(told[Term::Cold] == Approx(5));
  const Shares not_told = fit_shares(observations(false));
  CHECK(not_told[Term::Weights] == Approx(7));
  CHECK(not_told[Term::Cold] == 0);
}

TEST_CASE("one disturbed measurement does not turn the shares") {
  std::vector<Observation> observations = exact_observations();
  observations[5].us *= 10;
  CHECK(std::abs(weigh(times_with(40, 40), fit_shares(observations)) / 83 - 1) < 0.03);
}

TEST_CASE("observations count by their weights") {
  // There is one term, in two kinds of steps that differ by 4 %.
  std::vector<Observation> observations;
  for (int i = 0; i < 10; ++i)
    observations.push_back({times_with(100, 0), i == 0 ? 104.0 : 100.0, i == 0 ? 9.0 : 1.0});
  CHECK(weigh(observations[0].times, fit_shares(observations)) == Approx(102).epsilon(0.002));
}

TEST_CASE("a term that is nowhere 0.25 % of the time is left out") {
  std::vector<Observation> observations = exact_observations();
  for (size_t i = 0; i < observations.size(); ++i) {
    const double waves_us = 0.002 * observations[i].us * static_cast<double>(i % 2);
    observations[i].times[Term::Waves] = waves_us;
    observations[i].us += waves_us;
  }
  CHECK(fit_shares(observations)[Term::Waves] == 0);
  observations[3].us += 19 * observations[3].times[Term::Waves];
  observations[7].us += 19 * observations[7].times[Term::Waves];
  for (const size_t i : {1u, 5u, 9u, 11u})
    observations[i].us += 19 * observations[i].times[Term::Waves];
  CHECK(fit_shares(observations)[Term::Waves] == Approx(20).epsilon(0.01));
}

TEST_CASE("held-out predictions are of what the fit has not seen") {
  std::vector<Observation> observations = exact_observations();
  std::vector<size_t> folds;
  for (size_t i = 0; i < observations.size(); ++i) folds.push_back(i % 3);
  const Residuals residuals =
      residuals_of(errors_of(observations, predict_held_out(observations, folds, 3)));
  CHECK(residuals.count == observations.size());
  CHECK(residuals.within_10 == 100);
  CHECK(residuals.median_absolute < 0.1);
  // A fold of steps unlike all others cannot be predicted.
  observations[0].times[Term::Waves] = 50;
  observations[0].us += 50;
  folds.assign(observations.size(), 0);
  folds[0] = 1;
  CHECK(predict_held_out(observations, folds, 2)[0] == Approx(observations[0].us - 50));
}

TEST_CASE("a step unlike all others has a leverage of almost 1, one seen often has little") {
  std::vector<Observation> observations;
  for (int i = 0; i < 20; ++i) observations.push_back({times_with(1, 0), 10});
  CHECK(leverage(observations, times_with(1, 0), 10) < 0.1);
  CHECK(leverage(observations, times_with(100, 0), 10) > 0.9);
}

// Makes 100 steps of arithmetic and reading in all proportions; `time_of` gives their microseconds.
template <typename TimeOf>
std::vector<Observation> observations_by(const TimeOf& time_of) {
  std::vector<Observation> observations;
  for (int i = 0; i < 100; ++i) {
    const double compute_us = 5 + 7 * (i % 10);
    const double read_us = 3 + 6 * static_cast<double>(i / 10);
    observations.push_back({times_with(compute_us, read_us), time_of(compute_us, read_us)});
  }
  return observations;
}

double worst_percent(const std::vector<Observation>& observations, const FitOptions& options) {
  std::vector<double> predictions;
  const Shares shares = fit_shares(observations, options);
  for (const Observation& observation : observations)
    predictions.push_back(weigh(observation.times, shares));
  double worst = 0;
  for (const double error : errors_of(observations, predictions))
    worst = std::max(worst, std::abs(error));
  return worst;
}

TEST_CASE("steps that wait for the longer of two terms are found by a joint share") {
  const std::vector<Observation> observations = observations_by(
      [](double compute_us, double read_us) { return 2 + std::max(compute_us, 0.9 * read_us); });
  CHECK(worst_percent(observations, {}) > 15);
  CHECK(worst_percent(observations, {nullptr, 2}) < 8);
  const Shares shares = fit_shares(observations, {nullptr, 2});
  REQUIRE(shares.joint_count >= 1);
  CHECK_FALSE(shares.joint[0].is_beyond());
  CHECK(shares.joint[0].factor == Approx(0.9).epsilon(0.3));
}

TEST_CASE("steps that bend are found by a joint share, and straight ones have none") {
  const std::vector<Observation> bent = observations_by([](double compute_us, double read_us) {
    return 2 + compute_us + 0.1 * read_us + 3 * std::max(read_us - 35.4, 0.0);
  });
  CHECK(worst_percent(bent, {}) > 20);
  CHECK(worst_percent(bent, {nullptr, 4}) < 3);
  const Shares shares = fit_shares(bent, {nullptr, 4});
  REQUIRE(shares.joint_count >= 1);
  CHECK(shares.joint[0].is_beyond());
  CHECK(shares.joint[0].term == Term::Read);
  const std::vector<Observation> straight = observations_by(
      [](double compute_us, double read_us) { return 2 + compute_us + 0.5 * read_us; });
  CHECK(fit_shares(straight, {nullptr, 4}).joint_count == 0);
}

TEST_CASE("few observations have no joint share") {
  std::vector<Observation> few = observations_by(
      [](double compute_us, double read_us) { return 2 + std::max(compute_us, 0.9 * read_us); });
  few.resize(50);
  CHECK(fit_shares(few, {nullptr, 4}).joint_count == 0);
}

TEST_CASE("what few observations do not tell is drawn to the family's shares by a factor") {
  // All steps have as much reading as arithmetic, so nothing tells which one they wait for.
  std::vector<Observation> observations;
  for (int i = 1; i <= 8; ++i) observations.push_back({times_with(10 * i, 10 * i), 2 * (40.0 * i)});
  Shares family;  // twice as fast
  family[Term::Compute] = 1;
  family[Term::Read] = 3;
  const Shares drawn = fit_shares(observations, {&family, 0});
  CHECK(drawn[Term::Compute] == Approx(2).epsilon(0.02));
  CHECK(drawn[Term::Read] == Approx(6).epsilon(0.02));
  CHECK(weigh(times_with(50, 10), fit_shares(observations)) != Approx(160).epsilon(0.2));
  // The observations decide alone: the family counts as little as a fiftieth of one.
  const std::vector<Observation> exact = exact_observations();
  CHECK(weigh(times_with(40, 40), fit_shares(exact, {&family, 0})) == Approx(83).epsilon(0.03));
}

TEST_CASE("a term that is nothing but rounding has no share") {
  std::vector<Observation> observations = exact_observations();
  for (size_t i = 0; i < observations.size(); ++i) {
    const double residue = i % 3 == 0 ? 0 : 0x1p-55;
    observations[i].times[Term::Memory] = residue;
    observations[i].us += residue == 0 ? 0 : 2;
  }
  CHECK(fit_shares(observations)[Term::Memory] == 0);
}

TEST_CASE("what one or two of many steps have has no share") {
  std::vector<Observation> observations;
  for (int i = 1; i <= 70; ++i) observations.push_back({times_with(i, 0), 3 + 2.0 * i});
  // These are disturbed, and barely larger than a cache.
  for (const size_t i : {30u, 50u}) {
    observations[i].times[Term::Memory] = 0.001;
    observations[i].us *= 1.1;
  }
  CHECK(fit_shares(observations)[Term::Memory] == 0);
  for (const size_t i : {20u, 40u}) {
    observations[i].times[Term::Memory] = 10;
    observations[i].us += 50;
  }
  CHECK(fit_shares(observations)[Term::Memory] > 0);
}

}  // namespace
}  // namespace codl::profiler
