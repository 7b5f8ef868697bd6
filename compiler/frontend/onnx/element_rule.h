// Says how elements in a file become elements of an OnnxTensor.
#pragma once

#include <cstring>

#include "compiler/frontend/onnx/onnx_model.h"
#include "compiler/support/large_bytes.h"
#include "llvm/ADT/bit.h"
#include "schema/half.h"

namespace codl::compiler {

// Converts one element of a tensor to an element of OnnxTensor.
struct ElementRule {
  size_t stored_bytes;  // per element of raw_data
  // Converts `count` elements; null: the bytes are taken as they are.
  void (*convert)(const uint8_t* from, size_t count, uint8_t* to);
};

template <typename To, typename From, To (*kConvert)(From)>
void convert_elements(const uint8_t* from, size_t count, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, from + i * sizeof element, sizeof element);
    const To converted = kConvert(element);
    std::memcpy(to + i * sizeof converted, &converted, sizeof converted);
  }
}

inline float float_of_bfloat(uint16_t bits) { return llvm::bit_cast<float>(uint32_t{bits} << 16); }
inline uint8_t bool_of_byte(uint8_t value) { return value != 0; }

inline ElementRule element_rule(DType stored) {
  switch (stored) {
    case DType::F16:
      return {2, convert_elements<float, uint16_t, float_of_half>};
    case DType::BF16:
      return {2, convert_elements<float, uint16_t, float_of_bfloat>};
    case DType::Bool:
      return {1, convert_elements<uint8_t, uint8_t, bool_of_byte>};
    default:
      return {dtype_bytes(stored), nullptr};
  }
}

// Describes ONNX's integers of 2 or 4 bits, of which a byte of the file holds several, the first in
// its lowest bits. Each becomes a byte.
struct PackedIntegers {
  int bits = 0;  // 0: the type is another
  bool is_signed = false;

  int per_byte() const { return 8 / bits; }

  LargeBytes unpacked(llvm::ArrayRef<uint8_t> from, int64_t count) const {
    LargeBytes bytes(static_cast<size_t>(count));
    const int unused = 8 - bits;
    for (int64_t i = 0; i < count; ++i) {
      const auto high =
          static_cast<uint8_t>(from[i / per_byte()] >> (i % per_byte()) * bits << unused);
      const int element = is_signed ? static_cast<int8_t>(high) >> unused : high >> unused;
      bytes[i] = static_cast<uint8_t>(element);
    }
    return bytes;
  }
};

inline PackedIntegers packed_integers(int64_t data_type) {
  const std::string name = onnx_type_name(data_type);
  if (name == "UINT4" || name == "INT4") return {4, name[0] == 'I'};
  if (name == "UINT2" || name == "INT2") return {2, name[0] == 'I'};
  return {};
}

}  // namespace codl::compiler
