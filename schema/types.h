// Defines the types that everything shares: element types, layouts, ranges, the shape of a step's
// operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace codl {

// Element types. Values are stored in plans: append, never renumber. Bool is one byte, 0 or 1. F16
// and BF16 values exist at the network's border only (Cast), but memory may hold an f32 value
// rounded to F16, or as I8 if it lies on a grid of 256 numbers (OperandShape::scale). F64 has plain
// loops on the CPU. No value has Any.
enum class DType : uint8_t {
  F32 = 1,
  I64 = 2,
  Bool = 3,
  I8 = 4,
  U8 = 5,
  I16 = 6,
  U16 = 7,
  I32 = 8,
  U32 = 9,
  U64 = 10,
  F64 = 11,
  F16 = 12,
  BF16 = 13,
  Any = 255,
};

// Says how a value lies in memory. Dims stay in ONNX's order (n, c, h, w) in every layout.
//   Plain    row-major in ONNX's order
//   Nhwc     rank 4; channels innermost, padded to a multiple of 4; pad lanes hold zero
//   Image2d  rank 4; RGBA image, x = w * ceil(c / 4) + c / 4, y = n * rows + h
//   Packed   a weight blob in the packing of its kernel (pack_weights)
enum class Layout : uint8_t { Plain = 0, Nhwc = 1, Image2d = 2, Packed = 3, Any = 255 };
inline constexpr const char* kLayoutNames[] = {"plain", "nhwc", "image2d", "packed"};

// Says how memory holds a value: where its elements lie, and their type.
struct Form {
  Layout layout;
  DType dtype;
  friend constexpr bool operator==(Form, Form) = default;
};

// Names the orders of a constant's elements that kernels read, a fact of each entry of kernels.def.
// Only the compiler uses them; a plan has the kernel. kernels/pack.h describes each.
enum class PackingKind : uint8_t {
  None,
  Bias,
  ConvPanels,
  Depthwise,
  MatMulPanels,
  Winograd4,
  Winograd2,
  RecurrentPanels
};
inline constexpr size_t kPackingCount = static_cast<size_t>(PackingKind::RecurrentPanels) + 1;

// Says that the weights of a product are integers of `bits` bits, with a scale and a zero point for
// each column and each block of `size` depths; kernels/common/gemm/block_panels.h has the packing.
struct WeightBlocks {
  int32_t bits = 0;  // 4 or 8; 0: there are no blocks
  int32_t size = 0;  // a power of two, 16 or more
  explicit constexpr operator bool() const { return bits != 0; }
  friend constexpr bool operator==(WeightBlocks, WeightBlocks) = default;
};

// Says how a constant is stored for a kernel: in which order, and as which elements. Those of
// blocks are U8.
struct Packing {
  PackingKind kind = PackingKind::None;
  DType dtype = DType::F32;
  WeightBlocks blocks = {};
  friend constexpr bool operator==(Packing, Packing) = default;
};

// Says how a kernel computes its operator, a fact of each entry of kernels.def, if several kernels
// of an operator do it differently.
//   Direct         as the operator is written
//   Texels         a work-item computes four channels of some pixels, in images or in buffers
//   Tiled          tiles of a matrix product in local memory (kernels/common/gemm/gemm_tile.h)
//   Gemv           few rows times a matrix that is read in order
//   Winograd       Winograd's method; on the GPU by work-items alone, for processors that run
//   WinogradItem   OpenCL, or by work-groups that share local memory
//   WinogradGroup
//   Broadcast      operands broadcast in any way
//   Runs           elements that follow each other in memory, whatever axes they belong to
//   FromImage      reads an image and writes none
enum class Algorithm : uint8_t {
  Direct,
  Texels,
  Tiled,
  Gemv,
  Winograd,
  WinogradItem,
  WinogradGroup,
  Broadcast,
  Runs,
  FromImage
};

// Says which numbers a kernel takes and computes with, a fact of each entry of kernels.def.
//   AnyType   what the contract allows: the reference kernels
//   F32       floats
//   F16Store  float arithmetic; operands may be stored as halves, any of a GPU's, all of a CPU's,
//             but for those that stay floats (KernelInfo::stays_float())
//   F16       half arithmetic where the factors are halves (kernels/kernel_table.h), else F16Store
//   Q8        products of bytes, in sums of 32 bits: operands and weights are quantised, the result
//             is, too, or is floats
//   Q8Store   float arithmetic, or none; real numbers may be quantised bytes in memory
//   Blocks    weights may be integers of 4 or 8 bits in blocks, which the kernel makes floats or
//             halves of, whatever the other operands are
enum class Signature : uint8_t { AnyType, F32, F16Store, F16, Q8, Q8Store, Blocks };

// Holds signatures, a bit for each.
using SignatureSet = uint8_t;
constexpr SignatureSet bit_of(Signature signature) {
  return static_cast<SignatureSet>(1u << static_cast<uint32_t>(signature));
}
inline constexpr SignatureSet kAnyType = bit_of(Signature::AnyType);
inline constexpr SignatureSet kF32 = bit_of(Signature::F32);
inline constexpr SignatureSet kF16Store = bit_of(Signature::F16Store);
inline constexpr SignatureSet kF16 = bit_of(Signature::F16);
inline constexpr SignatureSet kQ8 = bit_of(Signature::Q8);
inline constexpr SignatureSet kQ8Store = bit_of(Signature::Q8Store);
inline constexpr SignatureSet kBlocks = bit_of(Signature::Blocks);

// Holds packings of floats, of halves, of bytes and of blocks, a bit for each.
using PackingSet = uint32_t;
inline constexpr size_t kTypedPackingCount = 4 * kPackingCount;  // bound of index_of()
static_assert(kTypedPackingCount <= 32);
inline constexpr PackingSet kAllPackings = ~PackingSet{0};
constexpr size_t index_of(Packing packing) {
  return static_cast<size_t>(packing.kind) + (packing.dtype == DType::F16  ? kPackingCount
                                              : packing.dtype == DType::I8 ? 2 * kPackingCount
                                              : packing.dtype == DType::U8 ? 3 * kPackingCount
                                                                           : 0);
}
constexpr PackingSet bit_of(Packing packing) { return PackingSet{1} << index_of(packing); }

enum class Processor : uint8_t { Cpu = 0, Gpu = 1 };

// Names the dim along which an operator is divided between the processors.
enum class SplitDim : uint8_t { None = 0, Height = 1, OutputChannel = 2 };
inline constexpr const char* kSplitDimNames[] = {"none", "height", "output_channel"};

// KernelInfo::splits has these bits.
inline constexpr uint32_t kSplitNone = 0;
inline constexpr uint32_t kSplitHeight = 1;
inline constexpr uint32_t kSplitOutputChannel = 2;

// KernelInfo::takes_windows.
inline constexpr bool kNoWindows = false;
inline constexpr bool kWindows = true;

inline constexpr int32_t kMaxRank = 8;
// Output channels in one panel of packed weights, on every instruction set and GPU; cuts along
// OutputChannel are multiples of it (64 bytes of float: no cache line is shared by two queues).
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

// Neither number is negative. The result has the type of `value`. (C++17: codl_uses_llvm_json() in
// cmake/.)
template <typename Integer>
constexpr Integer round_up(Integer value, std::common_type_t<Integer> multiple) {
  static_assert(std::is_integral_v<Integer>);
  return (value + multiple - 1) / multiple * multiple;
}
constexpr int64_t ceil_div(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}
constexpr int64_t floor_div(int64_t value, int64_t divisor) {
  return value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor);
}

struct DTypeRow {
  uint8_t bytes;
  const char* name;  // in dumps and messages
};
// Indexed by DType; 0 is none.
inline constexpr DTypeRow kDTypeRows[] = {
    {4, "none"}, {4, "f32"}, {8, "i64"}, {1, "bool"}, {1, "i8"},  {1, "u8"},  {2, "i16"},
    {2, "u16"},  {4, "i32"}, {4, "u32"}, {8, "u64"},  {8, "f64"}, {2, "f16"}, {2, "bf16"},
};
inline constexpr uint8_t kDTypeEnd = sizeof kDTypeRows / sizeof kDTypeRows[0];

constexpr bool is_known_dtype(uint8_t dtype) { return dtype >= 1 && dtype < kDTypeEnd; }
// Returns the bytes of one element; the dtype is a known one.
constexpr size_t dtype_bytes(DType dtype) { return kDTypeRows[static_cast<uint8_t>(dtype)].bytes; }
constexpr const char* dtype_name(DType dtype) {
  return kDTypeRows[static_cast<uint8_t>(dtype)].name;
}
constexpr bool is_integer(DType dtype) {
  return dtype == DType::I64 || (dtype >= DType::I8 && dtype <= DType::U64);
}
// Arithmetic is done in it.
constexpr bool is_number(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64 || is_integer(dtype);
}

}  // namespace codl
