#include "profiler/fit.h"

#include <cmath>

#include "kernels/model_features.h"
#include "kernels/model_term.h"
#include "test/support/catch.h"

namespace codl::profiler {
namespace {

double coefficient_of(const StepModel& model, const std::string& name) {
  for (const auto& [feature, value] : model.terms)
    if (feature == name) return value;
  return 0;
}

// Steps that take 3 us, 2 us a unit of a and 5 us a unit of b.
std::vector<Observation> exact_observations() {
  std::vector<Observation> observations;
  for (int i = 1; i <= 12; ++i) {
    const double a = i;
    const double b = i % 4;
    observations.push_back({{{"a", a}, {"b", b}, {"steps", 1}}, 3 + 2 * a + 5 * b});
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

TEST_CASE("a fit finds the model behind exact measurements") {
  const StepModel model = fit_model(exact_observations());
  CHECK(coefficient_of(model, "steps") == Approx(3));
  CHECK(coefficient_of(model, "a") == Approx(2));
  CHECK(coefficient_of(model, "b") == Approx(5));
  CHECK(model.predict_us({{"a", 10}, {"steps", 1}}) == Approx(23));
}

TEST_CASE("what cold weights take is told only where some are warm") {
  // 3 us, 2 us a megabyte of weights, and 5 us of one that is cold.
  const auto observations = [](bool has_warm) {
    std::vector<Observation> all;
    for (int i = 1; i <= 80; ++i) {
      const bool is_warm = has_warm && i % 4 == 0;
      NamedFeatures features = {{"weight_mbytes", i}, {"steps", 1}};
      if (!is_warm) features.emplace_back(kernels::kColdWeights, i);
      all.push_back({features, 3.0 + (is_warm ? 2 : 7) * i});
    }
    return all;
  };
  const StepModel told = fit_model(observations(true));
  CHECK(coefficient_of(told, "weight_mbytes") == Approx(2));
  CHECK(coefficient_of(told, kernels::kColdWeights) == Approx(5));
  const StepModel not_told = fit_model(observations(false));
  CHECK(coefficient_of(not_told, "weight_mbytes") == Approx(7));
  CHECK(coefficient_of(not_told, kernels::kColdWeights) == 0);
}

TEST_CASE("one disturbed measurement does not turn the model") {
  std::vector<Observation> observations = exact_observations();
  observations[5].us *= 10;
  const StepModel model = fit_model(observations);
  CHECK(std::abs(model.predict_us({{"a", 10}, {"b", 2}, {"steps", 1}}) / 33 - 1) < 0.03);
}

TEST_CASE("cross-validation predicts what the fit has not seen") {
  const std::vector<Observation> observations = exact_observations();
  std::vector<size_t> folds;
  for (size_t i = 0; i < observations.size(); ++i) folds.push_back(i % 3);
  const Residuals residuals = cross_validate(observations, folds, 3, false);
  CHECK(residuals.count == observations.size());
  CHECK(residuals.within_10 == 100);
  CHECK(residuals.median_absolute < 0.1);
}

// Of a GPU that takes 2 us a unit of a, and launches that come every 6 us.
std::vector<Observation> observations_over_floor() {
  std::vector<Observation> observations;
  for (int i = 1; i <= 90; ++i) {
    const double a = 0.1 * i;
    observations.push_back({{{"a", a}, {"steps", 1}}, kernels::over_floor_us(6, 2 * a)});
  }
  return observations;
}

TEST_CASE("steps that no launch is faster than have a floor") {
  const StepModel model = fit_bent_model(observations_over_floor(), true);
  CHECK(model.floor_us == Approx(6).epsilon(0.02));
  CHECK(model.predict_us({{"a", 0.2}, {"steps", 1}}) == Approx(6).epsilon(0.02));
  CHECK(model.predict_us({{"a", 8}, {"steps", 1}}) == Approx(16).epsilon(0.02));
}

TEST_CASE("no floor where none may be, where few steps tell, and where a sum says as much") {
  std::vector<Observation> observations = observations_over_floor();
  CHECK(fit_bent_model(observations, false).floor_us == 0);
  observations.resize(50);
  CHECK(fit_bent_model(observations, true).floor_us == 0);
  observations = observations_over_floor();
  for (Observation& observation : observations)
    observation.us = 6 + 2 * observation.features[0].second;
  CHECK(fit_bent_model(observations, true).floor_us == 0);
}

TEST_CASE("a step unlike all others has a leverage of almost 1, one seen often has little") {
  std::vector<Observation> observations;
  for (int i = 0; i < 20; ++i) observations.push_back({{{"a", 1}, {"steps", 1}}, 10});
  CHECK(leverage(observations, {{"a", 1}, {"steps", 1}}, 10) < 0.1);
  CHECK(leverage(observations, {{"a", 100}, {"steps", 1}}, 10) > 0.9);
}

TEST_CASE("a feature that rounding alone moves does not bend") {
  std::vector<Observation> observations;
  for (int i = 0; i < 40; ++i)
    observations.push_back(
        {{{"steps", 1}, {"kbytes", 0.192 * (1 + 1e-12 * i)}}, 3 + 0.05 * (i % 7)});
  for (const auto& [name, coefficient] : fit_bent_model(observations, false).terms)
    CHECK(coefficient < 100);
}

TEST_CASE("a feature that is nothing but rounding has no term") {
  std::vector<Observation> observations = exact_observations();
  for (size_t i = 0; i < observations.size(); ++i) {
    const double residue = i % 3 == 0 ? 0 : 0x1p-55;
    observations[i].features.emplace_back("residue", residue);
    observations[i].us += residue == 0 ? 0 : 2;
  }
  CHECK(coefficient_of(fit_model(observations), "residue") == 0);
}

TEST_CASE("what one or two of many steps have is no feature") {
  std::vector<Observation> observations;
  for (int i = 1; i <= 70; ++i) {
    const double a = i;
    observations.push_back({{{"a", a}, {"steps", 1}}, 3 + 2 * a});
  }
  // Disturbed, and barely beyond a level.
  for (const size_t i : {30u, 50u}) {
    observations[i].features.emplace_back("a_over_level", 0.001);
    observations[i].us *= 1.1;
  }
  CHECK(coefficient_of(fit_model(observations), "a_over_level") == 0);
  for (const size_t i : {20u, 40u}) {
    observations[i].features.emplace_back("a_over_level", 10);
    observations[i].us += 50;
  }
  CHECK(coefficient_of(fit_model(observations), "a_over_level") > 0);
}

}  // namespace
}  // namespace codl::profiler
