#include "schema/half.h"

#include <cmath>

#include "test/support/catch.h"

namespace codl {
namespace {

// Computes the value from the definition of binary16.
double value_of(uint32_t word) {
  const int exponent = static_cast<int>(word >> 10 & 0x1f);
  const int fraction = static_cast<int>(word & 0x3ff);
  const double magnitude = exponent == 0x1f ? (fraction != 0 ? NAN : HUGE_VAL)
                           : exponent == 0  ? std::ldexp(fraction, -24)
                                            : std::ldexp(fraction + 1024, exponent - 25);
  return (word & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST_CASE("every half is the float of its value, and what is written of it are its bits") {
  uint32_t faults = 0;
  for (uint32_t word = 0; word < 65536; ++word) {
    const auto half = static_cast<uint16_t>(word);
    const float value = float_of_half(half);
    const double expected = value_of(word);
    if (std::isnan(expected)) {
      faults += !std::isnan(value) || half_of(static_cast<double>(value)) != 0x7e00;
      continue;
    }
    faults += static_cast<double>(value) != expected;
    faults += std::signbit(value) != ((word & 0x8000) != 0);
    faults += half_of(static_cast<double>(value)) != half;
  }
  CHECK(faults == 0);
}

TEST_CASE("between two halves the nearer one is written, halfway the even one") {
  uint32_t faults = 0;
  for (uint32_t word = 0; word < 0x7c00; ++word) {
    const double low = value_of(word);
    // After the largest half comes 2^16, which stands for infinity.
    const double high = word == 0x7bff ? 65536 : value_of(word + 1);
    const double middle = (low + high) / 2;
    for (const uint32_t sign : {0U, 0x8000U}) {
      const double factor = sign != 0 ? -1 : 1;
      const auto is = [&](double value, uint32_t half) {
        return half_of(factor * value) == (sign | half);
      };
      faults += !is(middle, word + (word & 1));
      faults += !is(std::nextafter(middle, 0), word);
      faults += !is(std::nextafter(middle, 1e6), word + 1);
      faults += !is(std::nextafter(low, 1e6), word);
    }
  }
  CHECK(faults == 0);
  CHECK(half_of(1e300) == 0x7c00);
  CHECK(half_of(-HUGE_VAL) == 0xfc00);
  CHECK(half_of(5e-324) == 0);
  CHECK(half_of(-5e-324) == 0x8000);
}

}  // namespace
}  // namespace codl
