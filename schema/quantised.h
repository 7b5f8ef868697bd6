// Converts between real numbers and the bytes that hold them: byte q stands for
// (q - zero_point) * scale, with a zero point in [-128, 127].
#pragma once

#include <cstdint>

namespace codl {

// An image holds the distance of a byte from the lowest, which is the byte with this bit turned.
inline constexpr uint8_t kTexelBit = 0x80;

inline float number_of_byte(int8_t byte, float scale, int32_t zero_point) {
  return static_cast<float>(int32_t{byte} - zero_point) * scale;
}

// Returns the byte of the nearest number, with an even number of steps from zero of two equally
// near; the last byte on either side for what is beyond. A NaN gives the zero point.
inline int8_t byte_of_number(float number, float scale, int32_t zero_point) {
  const float steps = number / scale;
  if (!(steps == steps)) return static_cast<int8_t>(zero_point);
  const auto lowest = static_cast<float>(-128 - zero_point);
  const auto highest = static_cast<float>(127 - zero_point);
  const float inside = steps < lowest ? lowest : steps > highest ? highest : steps;
  // Floats near 3 * 2^22 are whole numbers, so that adding it rounds.
  return static_cast<int8_t>(static_cast<int32_t>(inside + 0x1.8p23f - 0x1.8p23f) + zero_point);
}

}  // namespace codl
