// Makes floats of elements as a tensor holds them, for checks that compute with floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "schema/half.h"
#include "schema/quantised.h"
#include "schema/step_shape.h"

namespace codl::rt {

// Returns how many times its bytes an operand takes as floats: 1 if it is not read so.
inline size_t widening(const kernels::OperandShape& shape) {
  const bool is_widened = shape.dtype == DType::F16 || kernels::is_quantised(shape);
  return is_widened ? sizeof(float) / static_cast<size_t>(kernels::element_bytes(shape)) : 1;
}

// Makes floats of halves, or of the quantised bytes of `held`. `to` may begin in front of `from`,
// so that both end together.
inline void widen(const uint8_t* from, size_t count, const kernels::OperandShape& held,
                  uint8_t* to) {
  const uint8_t turned = held.layout == Layout::Image2d ? kTexelBit : 0;
  for (size_t i = 0; i < count; ++i) {
    float value;
    if (held.dtype == DType::F16) {
      uint16_t half;
      std::memcpy(&half, from + i * sizeof(half), sizeof(half));
      value = float_of_half(half);
    } else {
      value = number_of_byte(static_cast<int8_t>(from[i] ^ turned), held.scale, held.zero_point);
    }
    std::memcpy(to + i * sizeof(value), &value, sizeof(value));
  }
}

}  // namespace codl::rt
