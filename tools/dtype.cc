#include "tools/dtype.h"

#include <cmath>
#include <cstring>

#include "schema/half.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

template <typename T>
double read_as(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return static_cast<double>(value);
}

template <typename T>
void write_as(double value, void* bytes) {
  const T element = static_cast<T>(value);
  std::memcpy(bytes, &element, sizeof(element));
}

uint16_t read_word(const void* bytes) {
  uint16_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// Reads the upper half of a float.
double read_bfloat16(const void* bytes) {
  const uint32_t bits = uint32_t{read_word(bytes)} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return static_cast<double>(value);
}

uint16_t bfloat16_of(double value) {
  const auto single = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof(bits));
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

const DTypeFacts& dtype_facts(codl_dtype_t dtype) {
  for (const DTypeFacts& facts : kDTypes)
    if (facts.dtype == dtype) return facts;
  throw ToolError(
      ExitCode::Unsupported,
      "plan: expected an element type that this tool knows, found " + std::to_string(dtype));
}

double read_element(codl_dtype_t dtype, const void* bytes) {
  switch (dtype) {
    case CODL_FLOAT32:
      return read_as<float>(bytes);
    case CODL_FLOAT64:
      return read_as<double>(bytes);
    case CODL_FLOAT16:
      return static_cast<double>(float_of_half(read_word(bytes)));
    case CODL_BFLOAT16:
      return read_bfloat16(bytes);
    case CODL_BOOL:
    case CODL_UINT8:
      return read_as<uint8_t>(bytes);
    case CODL_INT8:
      return read_as<int8_t>(bytes);
    case CODL_INT16:
      return read_as<int16_t>(bytes);
    case CODL_UINT16:
      return read_as<uint16_t>(bytes);
    case CODL_INT32:
      return read_as<int32_t>(bytes);
    case CODL_UINT32:
      return read_as<uint32_t>(bytes);
    case CODL_INT64:
      return read_as<int64_t>(bytes);
    case CODL_UINT64:
      return read_as<uint64_t>(bytes);
  }
  return 0;
}

void write_element(codl_dtype_t dtype, double value, void* bytes) {
  switch (dtype) {
    case CODL_FLOAT32:
      return write_as<float>(value, bytes);
    case CODL_FLOAT64:
      return write_as<double>(value, bytes);
    case CODL_FLOAT16: {
      const uint16_t word = half_of(value);
      std::memcpy(bytes, &word, sizeof(word));
      return;
    }
    case CODL_BFLOAT16: {
      const uint16_t word = bfloat16_of(value);
      std::memcpy(bytes, &word, sizeof(word));
      return;
    }
    case CODL_BOOL:
    case CODL_UINT8:
      return write_as<uint8_t>(value, bytes);
    case CODL_INT8:
      return write_as<int8_t>(value, bytes);
    case CODL_INT16:
      return write_as<int16_t>(value, bytes);
    case CODL_UINT16:
      return write_as<uint16_t>(value, bytes);
    case CODL_INT32:
      return write_as<int32_t>(value, bytes);
    case CODL_UINT32:
      return write_as<uint32_t>(value, bytes);
    case CODL_INT64:
      return write_as<int64_t>(value, bytes);
    case CODL_UINT64:
      return write_as<uint64_t>(value, bytes);
  }
}

std::string convert_elements(codl_dtype_t from, codl_dtype_t to, std::string_view data) {
  const size_t from_bytes = element_bytes(from);
  const size_t to_bytes = element_bytes(to);
  const size_t count = data.size() / from_bytes;
  std::string converted(count * to_bytes, '\0');
  for (size_t i = 0; i < count; ++i)
    write_element(to, read_element(from, data.data() + i * from_bytes), &converted[i * to_bytes]);
  return converted;
}

}  // namespace codl::tools
