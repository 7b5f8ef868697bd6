// Fills operands while a step is timed. No kernel's time depends on the values, except for denormal
// numbers, which are slow, and indices, which must be valid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "schema/step_shape.h"

namespace codl::profiler {

// Fills f32 with numbers between -1 and 1, which repeat after some kilobytes, and other types with
// 0 and 1.
inline void fill(const kernels::OperandShape& shape, void* data, size_t bytes) {
  constexpr size_t kPatternBytes = size_t{16} << 10;
  auto* out = static_cast<uint8_t*>(data);
  const size_t begun = std::min(bytes, kPatternBytes);
  if (shape.dtype == DType::F32) {
    uint32_t state = 1;
    for (size_t i = 0; i + sizeof(float) <= begun; i += sizeof(float)) {
      state = state * 1664525u + 1013904223u;
      const float value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
      std::memcpy(out + i, &value, sizeof(value));
    }
  } else {
    const size_t size = dtype_bytes(shape.dtype);
    std::memset(out, 0, begun);
    for (size_t i = 0; i + size <= begun; i += 2 * size) out[i] = 1;
  }
  for (size_t done = begun; done < bytes; done += kPatternBytes)
    std::memcpy(out + done, out, std::min(kPatternBytes, bytes - done));
}

}  // namespace codl::profiler
