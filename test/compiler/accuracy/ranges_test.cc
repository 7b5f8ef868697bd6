#include "compiler/accuracy/ranges.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "schema/quantised.h"
#include "test/support/catch.h"

namespace codl::compiler {
namespace {

double squared_error(const std::vector<float>& numbers, const ir::Grid& grid) {
  double sum = 0;
  for (const float x : numbers) {
    const double error = number_of_byte(byte_of_number(x, grid.scale, grid.zero_point), grid.scale,
                                        grid.zero_point) -
                         double{x};
    sum += error * error;
  }
  return sum;
}

Histogram histogram_of(const std::vector<float>& numbers) {
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  Histogram histogram(*low, *high);
  histogram.add(numbers);
  return histogram;
}

// Tries many ranges on the numbers themselves.
double least_error(const std::vector<float>& numbers) {
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  double least = squared_error(numbers, grid_from(*low, *high));
  for (int i = 0; i <= 60; ++i)
    for (int k = 0; k <= 60; ++k)
      least =
          std::min(least, squared_error(numbers, grid_from(static_cast<float>(i) / 60 * *low,
                                                           static_cast<float>(k) / 60 * *high)));
  return least;
}

}  // namespace

TEST_CASE("a range has about the least squared error of all ranges") {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto drawn = [&](const auto& function) {
    std::vector<float> numbers;
    for (int i = 0; i < 4000; ++i) numbers.push_back(function(normal(random)));
    return numbers;
  };
  const std::vector<float> cases[] = {
      drawn([](float x) { return x; }),
      drawn([](float x) { return std::max(x, 0.0f); }),
      drawn([](float x) { return std::min(x, 0.0f) * 1e-6f; }),
      drawn([](float x) { return x * x * x * x * x; }),
      drawn([](float x) { return std::exp(3 * x); }),
      drawn([](float x) { return x > 0 ? x : 0.01f * x; }),
      drawn([](float x) { return x + 4; }),
  };
  for (const std::vector<float>& numbers : cases) {
    CAPTURE(&numbers - cases);
    const ir::Grid grid = nearest_grid(histogram_of(numbers));
    CHECK(squared_error(numbers, grid) <= 1.05 * least_error(numbers));
    CHECK((grid.zero_point >= -128 && grid.zero_point <= 127));
    CHECK(number_of_byte(static_cast<int8_t>(grid.zero_point), grid.scale, grid.zero_point) == 0);
  }
}

TEST_CASE("few outliers are left out, many are not") {
  std::vector<float> numbers;
  for (int i = 0; i < 1000000; ++i) numbers.push_back(static_cast<float>(i % 1000) / 1000);
  numbers.push_back(8);
  const ir::Grid few = nearest_grid(histogram_of(numbers));
  CHECK(few.scale < 4.0f / 255);
  numbers.insert(numbers.end(), 20000, 8.0f);
  const ir::Grid many = nearest_grid(histogram_of(numbers));
  CHECK(many.scale > 7.5f / 255);
}

TEST_CASE("numbers that are all equal lie on a grid") {
  for (const float number : {0.0f, 3.0f, -3.0f, 1e-30f, 1e-42f, 3e38f}) {
    CAPTURE(number);
    const std::vector<float> numbers(10, number);
    const ir::Grid grid = nearest_grid(histogram_of(numbers));
    CHECK(std::isnormal(grid.scale));
    CHECK(squared_error(numbers, grid) <= 10 * std::pow(1e-5 * std::fabs(number) + 1e-38, 2));
  }
}

TEST_CASE("a clamp at zero is the lowest number of the grid") {
  const ir::Grid grid = grid_from(0, 6);
  CHECK(grid.zero_point == -128);
  CHECK(number_of_byte(127, grid.scale, grid.zero_point) == 6);
}

}  // namespace codl::compiler
