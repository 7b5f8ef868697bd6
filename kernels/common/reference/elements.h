// Converts blocks of elements of any dtype to one of two types to compute in, for reference
// kernels: one switch per block instead of one kernel per dtype.
#pragma once

#include "schema/types.h"

namespace codl::kernels {

// So many elements fit into the first-level cache several times over, and make the switch cost
// nothing.
inline constexpr int64_t kElementBlock = 256;

constexpr bool is_signed_integer(DType dtype) {
  return dtype == DType::I64 || dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32;
}

constexpr bool is_float(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64 || dtype == DType::F16 || dtype == DType::BF16;
}

// Loads `count` elements from `from` on, `step` elements apart. Bool and the integers become
// numbers; U64 keeps its bits.
void load_integers(DType dtype, const void* from, int64_t step, int64_t count, int64_t* to);
// `count` neighbours. Bool: 0 or 1 is given; integers: modulo 2^bits.
void store_integers(DType dtype, const int64_t* from, int64_t count, void* to);

// Loads F32, F64, F16 and BF16; each value is exact.
void load_floats(DType dtype, const void* from, int64_t step, int64_t count, double* to);
// Rounded to the nearest, ties to even; what is too large becomes infinite.
void store_floats(DType dtype, const double* from, int64_t count, void* to);

// Returns the integer next to x in the direction of zero; the nearest that the dtype has if x is
// out of range; 0 for a NaN. U64 is returned as its bits.
int64_t integer_of(DType dtype, double x);

}  // namespace codl::kernels
