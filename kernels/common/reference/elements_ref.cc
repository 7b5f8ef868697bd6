#include "kernels/common/reference/elements.h"

namespace codl::kernels {
namespace {

template <typename T, typename To>
void widen(const void* from, int64_t step, int64_t count, To* __restrict to) {
  const T* elements = static_cast<const T*>(from);
  // Neighbours, which most operands are, go in vectors.
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(elements[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(elements[i * step]);
}

template <typename T, typename From>
void narrow(const From* from, int64_t count, void* to) {
  T* __restrict elements = static_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) elements[i] = static_cast<T>(from[i]);
}

// Describes a binary format of 16 bits: sign, exponent, fraction.
struct Half {
  int32_t fraction_bits;
  int32_t bias;  // added to the exponent
};
constexpr Half kF16 = {10, 15};
constexpr Half kBF16 = {7, 127};
// A double has this format.
constexpr int32_t kFractionBits = 52;
constexpr int32_t kBias = 1023;

// 2^exponent; the result is a normal number.
double power_of_two(int32_t exponent) {
  return __builtin_bit_cast(double, static_cast<uint64_t>(exponent + kBias) << kFractionBits);
}

double double_of(Half half, uint16_t bits) {
  const uint64_t sign = static_cast<uint64_t>(bits >> 15) << 63;
  const int32_t exponent = (bits & 0x7fff) >> half.fraction_bits;
  const uint64_t fraction = bits & ((1u << half.fraction_bits) - 1);
  const int32_t last_exponent = (1 << (15 - half.fraction_bits)) - 1;
  double magnitude;
  if (exponent == last_exponent) {
    magnitude = fraction != 0 ? __builtin_nan("") : __builtin_inf();
  } else if (exponent == 0) {
    magnitude = static_cast<double>(fraction) * power_of_two(1 - half.bias - half.fraction_bits);
  } else {
    magnitude = __builtin_bit_cast(double, static_cast<uint64_t>(exponent - half.bias + kBias)
                                                   << kFractionBits |
                                               fraction << (kFractionBits - half.fraction_bits));
  }
  return __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, magnitude) | sign);
}

uint16_t half_of(Half half, double x) {
  const uint64_t bits = __builtin_bit_cast(uint64_t, x);
  const auto sign = static_cast<uint16_t>(bits >> 63 << 15);
  const auto infinity = static_cast<uint16_t>(0x7fff & ~((1u << half.fraction_bits) - 1));
  const double magnitude = __builtin_fabs(x);
  if (!(magnitude == magnitude))
    return static_cast<uint16_t>(sign | infinity | 1u << (half.fraction_bits - 1));
  if (magnitude < power_of_two(1 - half.bias)) {
    // A multiple of the smallest number: adding 2^52 leaves the integer, rounded, in the fraction.
    // The smallest normal number comes out right where rounding reaches it.
    const double scaled = magnitude * power_of_two(half.fraction_bits + half.bias - 1);
    const uint64_t rounded = __builtin_bit_cast(uint64_t, scaled + power_of_two(kFractionBits));
    return static_cast<uint16_t>(sign | (rounded & 0xffff));
  }
  // Rounding the fraction may carry into the exponent, up to infinity.
  const int32_t dropped = kFractionBits - half.fraction_bits;
  uint64_t kept = bits & ~(uint64_t{1} << 63);
  kept += (uint64_t{1} << (dropped - 1)) - 1 + (kept >> dropped & 1);
  kept >>= dropped;
  kept -= static_cast<uint64_t>(kBias - half.bias) << half.fraction_bits;
  return static_cast<uint16_t>(sign | (kept < infinity ? kept : infinity));
}

void widen_halves(Half half, const void* from, int64_t step, int64_t count, double* to) {
  const uint16_t* elements = static_cast<const uint16_t*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = double_of(half, elements[i * step]);
}

void narrow_to_halves(Half half, const double* from, int64_t count, void* to) {
  uint16_t* elements = static_cast<uint16_t*>(to);
  for (int64_t i = 0; i < count; ++i) elements[i] = half_of(half, from[i]);
}

}  // namespace

void load_integers(DType dtype, const void* from, int64_t step, int64_t count, int64_t* to) {
  switch (dtype) {
    case DType::I8:
      return widen<int8_t>(from, step, count, to);
    case DType::I16:
      return widen<int16_t>(from, step, count, to);
    case DType::U16:
      return widen<uint16_t>(from, step, count, to);
    case DType::I32:
      return widen<int32_t>(from, step, count, to);
    case DType::U32:
      return widen<uint32_t>(from, step, count, to);
    case DType::I64:
    case DType::U64:
      return widen<int64_t>(from, step, count, to);
    default:  // Bool, U8
      return widen<uint8_t>(from, step, count, to);
  }
}

void store_integers(DType dtype, const int64_t* from, int64_t count, void* to) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return narrow<uint8_t>(from, count, to);
    case 2:
      return narrow<uint16_t>(from, count, to);
    case 4:
      return narrow<uint32_t>(from, count, to);
    default:
      return narrow<uint64_t>(from, count, to);
  }
}

void load_floats(DType dtype, const void* from, int64_t step, int64_t count, double* to) {
  switch (dtype) {
    case DType::F64:
      return widen<double>(from, step, count, to);
    case DType::F16:
      return widen_halves(kF16, from, step, count, to);
    case DType::BF16:
      return widen_halves(kBF16, from, step, count, to);
    default:
      return widen<float>(from, step, count, to);
  }
}

void store_floats(DType dtype, const double* from, int64_t count, void* to) {
  switch (dtype) {
    case DType::F64:
      return narrow<double>(from, count, to);
    case DType::F16:
      return narrow_to_halves(kF16, from, count, to);
    case DType::BF16:
      return narrow_to_halves(kBF16, from, count, to);
    default:
      return narrow<float>(from, count, to);
  }
}

int64_t integer_of(DType dtype, double x) {
  if (!(x == x)) return 0;
  const int32_t bits = static_cast<int32_t>(dtype_bytes(dtype)) * 8;
  const double low = is_signed_integer(dtype) ? -power_of_two(bits - 1) : 0.0;
  const double end = power_of_two(is_signed_integer(dtype) ? bits - 1 : bits);
  if (x <= low) return static_cast<int64_t>(low);
  if (x < end)
    return dtype == DType::U64 ? static_cast<int64_t>(static_cast<uint64_t>(x))
                               : static_cast<int64_t>(x);
  // All bits below the sign, or below bit `bits`, are ones.
  const int32_t ones = is_signed_integer(dtype) ? bits - 1 : bits;
  return static_cast<int64_t>(~uint64_t{0} >> (64 - ones));
}

}  // namespace codl::kernels
