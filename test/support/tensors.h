// Makes memory for operands: random, packed, between guards.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/common/reference/elements.h"
#include "schema/step_shape.h"

namespace codl::test {

// Fills guards and outputs before a run. As a float it is a NaN that no kernel makes.
inline constexpr uint8_t kGuardByte = 0xfd;

// Memory between guards of 256 bytes. `misalignment_bytes`: distance from a multiple of 64; kernels
// may count only on the element's alignment.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes, size_t misalignment_bytes = 0)
      : bytes_(bytes), before_(kGuardBytes + misalignment_bytes) {
    total_ = (before_ + bytes + kGuardBytes + 63) / 64 * 64;
    all_ = static_cast<uint8_t*>(std::aligned_alloc(64, total_));
    std::memset(all_, kGuardByte, total_);
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : all_(other.all_), bytes_(other.bytes_), before_(other.before_), total_(other.total_) {
    other.all_ = nullptr;
  }
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() { std::free(all_); }

  float* data() { return reinterpret_cast<float*>(all_ + before_); }
  const float* data() const { return reinterpret_cast<const float*>(all_ + before_); }
  size_t bytes() const { return bytes_; }
  bool has_whole_guards() const {
    const auto is_whole = [&](size_t begin, size_t end) {
      return std::all_of(all_ + begin, all_ + end, [](uint8_t byte) { return byte == kGuardByte; });
    };
    return is_whole(0, before_) && is_whole(before_ + bytes_, total_);
  }

 private:
  static constexpr size_t kGuardBytes = 256;
  uint8_t* all_;
  size_t bytes_;
  size_t before_;
  size_t total_;
};

// Fills in numbers in [-1, 1], and zeros in the pad lanes of Nhwc. Image2d is filled as Nhwc of the
// same window.
inline void fill_random(const kernels::OperandShape& shape, std::mt19937* random, float* data) {
  std::uniform_real_distribution<float> numbers(-1.0f, 1.0f);
  const int64_t count = kernels::stored_elements(shape);
  const bool has_lanes = shape.layout == Layout::Nhwc || shape.layout == Layout::Image2d;
  const int64_t lanes = has_lanes ? kernels::padded_channels(shape) : 1;
  const int64_t valid = has_lanes ? shape.dims[1] : 1;
  for (int64_t i = 0; i < count; ++i) data[i] = i % lanes < valid ? numbers(*random) : 0.0f;
}

// Rounds to the nearest, ties to even.
inline void to_halves(const float* from, size_t count, uint16_t* to) {
  for (size_t i = 0; i < count; ++i) {
    const double number = from[i];
    kernels::store_floats(DType::F16, &number, 1, &to[i]);
  }
}

// Halves that nothing has written become floats that look unwritten.
inline void from_halves(const uint16_t* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) {
    double number = 0;
    kernels::load_floats(DType::F16, &from[i], 1, 1, &number);
    to[i] = static_cast<float>(number);
    if (from[i] == (kGuardByte << 8 | kGuardByte)) std::memset(&to[i], kGuardByte, sizeof(float));
  }
}

// Rounds floats to numbers that halves have; those that nothing has written stay.
inline void round_to_halves(GuardedMemory* floats) {
  const size_t count = floats->bytes() / sizeof(float);
  std::vector<uint16_t> halves(count);
  to_halves(floats->data(), count, halves.data());
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, floats->data() + i, sizeof bits);
    if (bits != kGuardByte * 0x01010101u) from_halves(&halves[i], 1, floats->data() + i);
  }
}

// Puts numbers on the grid of an operand of bytes: the nearest, the even one of two equally near.
inline void to_bytes(const kernels::OperandShape& shape, const float* from, size_t count,
                     int8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    const double q = std::nearbyint(double{from[i]} / double{shape.scale}) + shape.zero_point;
    to[i] = static_cast<int8_t>(q > -128 ? std::min(q, 127.0) : -128.0);  // a NaN is -128
  }
}

// Rounds floats to numbers of that grid.
inline void round_to_grid(const kernels::OperandShape& shape, GuardedMemory* floats) {
  for (size_t i = 0; i < floats->bytes() / sizeof(float); ++i) {
    int8_t byte;
    to_bytes(shape, floats->data() + i, 1, &byte);
    floats->data()[i] = static_cast<float>(byte - shape.zero_point) * shape.scale;
  }
}

// Fills in elements of dtypes other than f32: bools; numbers in [-10, 10], so that they are indices
// inside and outside of small dims, counts from the end and zeros; floats as bits that are only
// moved.
inline void fill_random_elements(const kernels::OperandShape& shape, std::mt19937* random,
                                 uint8_t* data) {
  const size_t bytes = dtype_bytes(shape.dtype);
  const int64_t count = kernels::stored_elements(shape);
  for (int64_t i = 0; i < count; ++i, data += bytes) {
    int64_t element = static_cast<int64_t>((*random)() % 21) - 10;
    if (shape.dtype == DType::Bool) element &= 1;
    std::memcpy(data, &element, bytes);  // little endian: the low bytes
  }
}

}  // namespace codl::test
