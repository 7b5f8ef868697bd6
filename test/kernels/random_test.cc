// Tests random numbers: which they are, how they are spread, and that each depends on its place
// alone.
#include "kernels/random/random.h"

#include <algorithm>
#include <cmath>

#include "kernels/random/philox.h"
#include "test/kernels/typed_tensor.h"
#include "test/support/catch.h"

namespace codl::test {
namespace {

constexpr int32_t kCount = 100000;

std::vector<float> numbers_of(RandomParams params, int32_t count = kCount) {
  const TypedTensor x = typed_tensor(DType::I64, {1}, std::vector<uint8_t>(8));
  const TypedTensor like = typed_tensor(
      DType::F32, {count}, std::vector<uint8_t>(sizeof(float) * static_cast<size_t>(count)));
  const TypedTensor y = run_any(OpKind::Random, &params, {x}, like);
  REQUIRE(y.bytes.size() == like.bytes.size());
  std::vector<float> numbers(static_cast<size_t>(count));
  std::memcpy(numbers.data(), y.bytes.data(), y.bytes.size());
  return numbers;
}

double mean_of(const std::vector<float>& numbers) {
  double sum = 0;
  for (float number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}

double variance_of(const std::vector<float>& numbers) {
  const double mean = mean_of(numbers);
  double sum = 0;
  for (float number : numbers) sum += (number - mean) * (number - mean);
  return sum / static_cast<double>(numbers.size());
}

// Returns Kolmogorov's distance: the largest between the share of numbers below any place and what
// the distribution says.
template <typename Distribution>
double distance_of(std::vector<float> numbers, Distribution share_below) {
  std::sort(numbers.begin(), numbers.end());
  double largest = 0;
  const auto count = static_cast<double>(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double share = share_below(double{numbers[i]});
    largest = std::max({largest, std::fabs(share - static_cast<double>(i) / count),
                        std::fabs(share - static_cast<double>(i + 1) / count)});
  }
  return largest;
}

// One in a thousand of right generators has a larger distance.
const double kMaxDistance = 1.95 / std::sqrt(static_cast<double>(kCount));

double normal_share(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum / static_cast<double>(a.size());
}

}  // namespace

// The vectors are those of Random123, the authors' own implementation (tests/kat_vectors).
TEST_CASE("Philox gives its authors' numbers") {
  using kernels::philox;
  using kernels::PhiloxWords;
  CHECK(philox({0, 0, 0, 0}, 0) == PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t kAll = 0xffffffff;
  CHECK(philox({kAll, kAll, kAll, kAll}, ~uint64_t{0}) ==
        PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822) ==
        PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random numbers are spread as their kind says") {
  const double bound = 4 / std::sqrt(static_cast<double>(kCount));  // standard deviations of means
  for (int32_t stream : {0, 1, 2}) {
    CAPTURE(stream);
    const auto normal =
        numbers_of({.kind = kRandomNormal, .stream = stream, .location = 0, .scale = 1});
    CHECK(std::fabs(mean_of(normal)) < bound);
    CHECK(std::fabs(variance_of(normal) - 1) < std::sqrt(2.0) * bound);
    CHECK(distance_of(normal, normal_share) < kMaxDistance);
    CHECK(*std::max_element(normal.begin(), normal.end()) < kernels::kMaxRandomNormal);

    const auto uniform =
        numbers_of({.kind = kRandomUniform, .stream = stream, .location = -3, .scale = 4});
    CHECK(std::fabs(mean_of(uniform) + 1) < 4 / std::sqrt(12.0) * bound);
    CHECK(distance_of(uniform, [](double x) { return (x + 3) / 4; }) < kMaxDistance);
    CHECK(*std::min_element(uniform.begin(), uniform.end()) >= -3);
    CHECK(*std::max_element(uniform.begin(), uniform.end()) <= 1);
  }
  const auto wide = numbers_of({.kind = kRandomNormal, .location = 5, .scale = 3});
  CHECK(distance_of(wide, [](double x) { return normal_share((x - 5) / 3); }) < kMaxDistance);
}

TEST_CASE("a random number depends on seed, stream and place alone") {
  const RandomParams params = {
      .kind = kRandomNormal, .has_seed = 1, .seed = 3, .stream = 1, .location = 0, .scale = 1};
  const auto numbers = numbers_of(params);
  CHECK(numbers_of(params) == numbers);
  for (int32_t count : {1, 2, 5, 1003}) {
    const auto fewer = numbers_of(params, count);
    CHECK(std::equal(fewer.begin(), fewer.end(), numbers.begin()));
  }
  const double bound = 4 / std::sqrt(static_cast<double>(kCount));
  RandomParams other = params;
  other.seed = 4;
  CHECK(std::fabs(correlation(numbers, numbers_of(other))) < bound);
  other = params;
  other.stream = 2;
  CHECK(std::fabs(correlation(numbers, numbers_of(other))) < bound);
}

}  // namespace codl::test
