// Names how ScatterElements and ScatterNd combine an update with the element that it changes.
#pragma once

#include "kernels/common/contract/move_elements.h"

namespace codl::kernels {

// Numbers are computed with; the other dtypes are only moved.
constexpr bool can_reduce_scattered(DType dtype, int32_t reduction) {
  if (reduction == kScatterElementsNone) return true;
  if (reduction < 0 || reduction > kScatterElementsMax) return false;
  return is_number(dtype);
}

// Integers wrap around; of a NaN and a number Min and Max are the NaN, as in numpy.
template <typename T>
T reduced(T a, T b, int32_t reduction) {
  if (reduction == kScatterElementsMin) return a < b || a != a ? a : b;
  if (reduction == kScatterElementsMax) return a > b || a != a ? a : b;
  const bool is_sum = reduction == kScatterElementsAdd;
  if constexpr (static_cast<T>(0.5f) != T{}) {
    return is_sum ? a + b : a * b;
  } else {
    const uint64_t wide_a = static_cast<uint64_t>(a);
    const uint64_t wide_b = static_cast<uint64_t>(b);
    return static_cast<T>(is_sum ? wide_a + wide_b : wide_a * wide_b);
  }
}

template <typename T>
void reduce_run(char* to, const char* from, int64_t count, int32_t reduction) {
  T* const y = reinterpret_cast<T*>(to);
  const T* const x = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) y[i] = reduced(y[i], x[i], reduction);
}

// Scatters `count` neighbours onto neighbours. The dtype and reduction have passed
// can_reduce_scattered().
inline void scatter_run(DType dtype, int32_t reduction, char* to, const char* from, int64_t count) {
  if (reduction == kScatterElementsNone) {
    move_few(to, from, count * static_cast<int64_t>(dtype_bytes(dtype)));
    return;
  }
  switch (dtype) {
    case DType::F32:
      reduce_run<float>(to, from, count, reduction);
      return;
    case DType::F64:
      reduce_run<double>(to, from, count, reduction);
      return;
    case DType::I64:
      reduce_run<int64_t>(to, from, count, reduction);
      return;
    case DType::I32:
      reduce_run<int32_t>(to, from, count, reduction);
      return;
    case DType::I16:
      reduce_run<int16_t>(to, from, count, reduction);
      return;
    case DType::I8:
      reduce_run<int8_t>(to, from, count, reduction);
      return;
    case DType::U64:
      reduce_run<uint64_t>(to, from, count, reduction);
      return;
    case DType::U32:
      reduce_run<uint32_t>(to, from, count, reduction);
      return;
    case DType::U16:
      reduce_run<uint16_t>(to, from, count, reduction);
      return;
    default:
      reduce_run<uint8_t>(to, from, count, reduction);
  }
}

}  // namespace codl::kernels
