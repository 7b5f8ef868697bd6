// Types shared by everything: element types, layouts, ranges, the shape of a step's operands.
#pragma once

#include <cstddef>
#include <cstdint>

namespace codl {

// Values are stored in plans: append, never renumber.
enum class DType : uint8_t { F32 = 1, I64 = 2 };

// How a value lies in memory. Dims stay in ONNX's order (n, c, h, w) in every layout.
//   Plain    row-major in ONNX's order
//   Nhwc     rank 4; channels innermost, padded to a multiple of 4; pad lanes hold zero
//   Image2d  rank 4; RGBA image, x = w * ceil(c / 4) + c / 4, y = n * rows + h
//   Packed   a weight blob in the packing of its kernel (pack_weights)
enum class Layout : uint8_t { Plain = 0, Nhwc = 1, Image2d = 2, Packed = 3, Any = 255 };

enum class Processor : uint8_t { Cpu = 0, Gpu = 1 };

// The dim along which an operator is divided between the processors.
enum class SplitDim : uint8_t { None = 0, Height = 1, OutputChannel = 2 };

// Bits of KernelRow::splits.
inline constexpr uint32_t kSplitNone = 0;
inline constexpr uint32_t kSplitHeight = 1;
inline constexpr uint32_t kSplitOutputChannel = 2;

inline constexpr int32_t kMaxRank = 8;
// Output channels in one panel of packed weights, on every instruction set and GPU; cuts along
// OutputChannel are multiples of it (64 bytes of float: no cache line is shared by two lanes).
inline constexpr int32_t kChannelPanel = 16;
// Channels of an Nhwc or Image2d pixel are padded to a multiple of this.
inline constexpr int32_t kChannelPad = 4;

// Half-open [begin, end).
struct Range {
  int32_t begin = 0;
  int32_t end = 0;
  constexpr int32_t count() const { return end - begin; }
  constexpr bool empty() const { return end <= begin; }
  constexpr bool contains(Range other) const { return begin <= other.begin && other.end <= end; }
  constexpr bool overlaps(Range other) const { return begin < other.end && other.begin < end; }
  friend constexpr bool operator==(Range, Range) = default;
};

constexpr int32_t round_up(int32_t value, int32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr int64_t ceil_div(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

constexpr size_t dtype_bytes(DType dtype) { return dtype == DType::I64 ? 8 : 4; }

}  // namespace codl
