// Declares the graph's types: tensor types and operator parameters.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "schema/tables.h"

namespace codl::ir {

using ValueId = uint32_t;
using NodeId = uint32_t;  // index into Graph::nodes(); changes when nodes are added or removed
inline constexpr uint32_t kNoId = UINT32_MAX;

using Dims = llvm::SmallVector<int32_t, 4>;

// Says how a value's real numbers, or all of a network's, may be held and computed: as floats, as
// halves wherever kernels take them, or as the search finds faster.
enum class Precision : uint8_t { Fp32, Fp16, Auto };
inline constexpr const char* kPrecisionNames[] = {"fp32", "fp16", "auto"};

// Describes numbers that 256 bytes can stand for: byte q in [-128, 127] is (q - zero_point) *
// scale.
struct Grid {
  float scale = 0;  // 0: there is no grid
  int32_t zero_point = 0;

  explicit operator bool() const { return scale != 0; }
  friend bool operator==(const Grid&, const Grid&) = default;
};

// Describes a value statically. Dims are in ONNX's order in every layout.
struct TensorType {
  DType dtype = DType::F32;
  Dims dims;
  Layout layout = Layout::Plain;

  int32_t rank() const { return static_cast<int32_t>(dims.size()); }
  int64_t element_count() const {
    int64_t count = 1;
    for (int32_t dim : dims) count *= dim;
    return count;
  }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Like "f32[1,64,112,112] nhwc".
std::string to_string(const TensorType& type);

// Holds the parameters of one operator: the bytes of its Params struct (schema/ops.def).
class OpParams {
 public:
  OpParams() = default;
  template <typename Params>
  static OpParams of(OpKind op, const Params& params) {
    static_assert(sizeof(Params) % 4 == 0);
    OpParams result;
    result.words_.resize(params_bytes_of(op) / 4);
    std::memcpy(result.words_.data(), &params, params_bytes_of(op));
    return result;
  }
  template <typename Params>
  Params as() const {
    Params params{};
    std::memcpy(static_cast<void*>(&params), words_.data(), words_.size() * 4);
    return params;
  }
  const void* data() const { return words_.data(); }
  uint32_t bytes() const { return static_cast<uint32_t>(words_.size() * 4); }
  std::vector<uint32_t> words() const { return {words_.begin(), words_.end()}; }
  friend bool operator==(const OpParams&, const OpParams&) = default;

 private:
  llvm::SmallVector<uint32_t, 16> words_;
};

}  // namespace codl::ir
