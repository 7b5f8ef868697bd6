// Converts halves, IEEE 754 binary16: 1 bit of sign, 5 of exponent (bias 15), 10 of fraction.
#pragma once

#include <cstdint>

namespace codl {

// A sum of products in halves loses digits as it grows. Kernels add at most so many products in
// halves, and then their sum to one in floats.
inline constexpr int64_t kHalfSumProducts = 128;

// The result is exact, the bits of a NaN included.
inline float float_of_half(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t bits =
      magnitude >= 0x7c00u
          ? (magnitude << 13) | 0x7f800000u
          : __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude << 13) * 0x1p112f);
  return __builtin_bit_cast(float, bits | sign);
}

// Returns the nearest half, the even one of two equally near; infinity from 65520 on, halfway from
// the largest to 2^16. There is one NaN.
inline uint16_t half_of(double value) {
  const uint64_t bits = __builtin_bit_cast(uint64_t, value);
  const auto sign = static_cast<uint32_t>(bits >> 48) & 0x8000u;
  const double magnitude = __builtin_bit_cast(double, bits&(UINT64_MAX >> 1));
  if (__builtin_isnan(magnitude)) return 0x7e00;
  if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7c00u);
  // The exponent is biased by 15 as in a half, and 1 for what is below the normal ones: it is from
  // 1 to 30.
  const auto wide = static_cast<int32_t>(bits >> 52 & 0x7ff);
  const int32_t exponent = wide > 1008 ? wide - 1008 : 1;
  // The value in units of the halves around it, 2^(exponent - 25), is at most 2048. At 2^52 doubles
  // are whole numbers, so that adding it rounds. A carry runs into the exponent, as it should.
  const double units =
      magnitude * __builtin_bit_cast(double, static_cast<uint64_t>(1048 - exponent) << 52);
  const auto rounded = static_cast<uint32_t>(units + 0x1p52 - 0x1p52);
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent - 1) << 10) + rounded));
}

// Holds a half as memory does.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(double value) : bits(half_of(value)) {}
};

}  // namespace codl
